"""Step 3: token vectors of the teacher -> a static table, trained further on pairs of tool texts.

python3 train.py --work folder --out assets-folder [--epochs 4]
Needs numpy and scipy. Reads what prepare.ts and teach.ts wrote; no request of any set is read here.
"""

import argparse
import os
import sys
import time

import numpy as np
from scipy import sparse

arguments = argparse.ArgumentParser()
arguments.add_argument("--work", required=True, nargs="+")
arguments.add_argument("--out")
arguments.add_argument("--dev")
arguments.add_argument("--dimensions", type=int, default=256)
arguments.add_argument("--epochs", type=int, default=4)
arguments.add_argument("--batch", type=int, default=768)
arguments.add_argument("--temperature", type=float, default=0.08)
arguments.add_argument("--rate", type=float, default=0.002)
arguments.add_argument("--dropout", type=float, default=0.15)
arguments.add_argument("--teacher", type=float, default=1.0)
arguments.add_argument("--teacher-temperature", type=float, default=0.05)
arguments.add_argument("--warm", type=int, default=2)
arguments.add_argument("--seed", type=int, default=7)
arguments.add_argument("--sif", type=float, default=3e-4)
arguments.add_argument("--group", type=int, default=6)
arguments.add_argument("--kinds", default="1,1,1,0.5,0.2,0.2")
options = arguments.parse_args()
random = np.random.default_rng(options.seed)


def load(folder, name, kind):
    return np.fromfile(os.path.join(folder, name), dtype=kind)


def load_all(folders):
    """Texts of several folders behind one numbering."""
    offsets, ids, pairs, taught, goals, texts, servers = [np.zeros(1, np.int64)], [], [], [], [], 0, 0
    for folder in folders:
        own = load(folder, "offsets.bin", np.int32).astype(np.int64)
        own_pairs = load(folder, "pairs.bin", np.int32).reshape(-1, 4).astype(np.int64)
        ids.append(load(folder, "ids.bin", np.int32))
        pairs.append(own_pairs + np.array([texts, texts, 0, servers]))
        taught.append(load(folder, "taught.bin", np.int32).astype(np.int64) + texts)
        goals.append(load(folder, "text-vectors.f32", np.float32).reshape(-1, 384))
        offsets.append(own[1:] + offsets[-1][-1])
        texts += len(own) - 1
        servers += own_pairs[:, 3].max() + 1
    return [np.concatenate(part) for part in (offsets, ids, pairs, taught, goals)]


offsets, ids, pairs, taught, text_vectors = load_all(options.work)
token_vectors = load(options.work[0], "token-vectors.f32", np.float32).reshape(-1, 384)


def unit(matrix):
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)


def distilled_table():
    """Tokens alone through the teacher, reduced, and weighted down the more common they are (rank as a stand-in)."""
    targets = unit(text_vectors)
    targets = unit(targets - targets.mean(axis=0))
    centred = token_vectors - token_vectors.mean(axis=0)
    basis = np.linalg.eigh(targets.T @ targets)[1][:, ::-1][:, : options.dimensions].astype(np.float32)
    table = unit(centred @ basis)
    counts = np.bincount(ids, minlength=len(table)).astype(np.float64)
    # Half of the estimate from Zipf by rank, half from the tool texts themselves.
    zipf = 1.0 / (np.arange(len(table)) + 3.0)
    zipf[:1996] = 1e-5
    zipf /= zipf.sum()
    share = 0.5 * zipf + 0.5 * counts / counts.sum()
    weight = options.sif / (options.sif + share)
    return (table * weight[:, None]).astype(np.float32), unit(targets @ basis).astype(np.float32)


def bags(texts, dropout):
    """One sparse row per text: how often each of the touched tokens occurs in it."""
    lengths = offsets[texts + 1] - offsets[texts]
    rows = np.repeat(np.arange(len(texts)), lengths)
    starts = np.repeat(offsets[texts], lengths)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    columns = ids[starts + within]
    if dropout > 0:
        kept = random.random(len(rows)) > dropout
        kept[(np.cumsum(lengths) - lengths)[lengths > 0]] |= lengths[lengths > 0] < 3
        rows, columns = rows[kept], columns[kept]
    touched, local = np.unique(columns, return_inverse=True)
    bag = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, local)), shape=(len(texts), len(touched)))
    return bag, touched


def forward(table, bag, touched):
    summed = bag @ table[touched]
    norms = np.maximum(np.linalg.norm(summed, axis=1, keepdims=True), 1e-6)
    return summed / norms, norms


def backward(bag, vectors, norms, gradient):
    gradient = (gradient - vectors * (gradient * vectors).sum(axis=1, keepdims=True)) / norms
    return bag.T @ gradient


class LazyAdam:
    """Adam that moves only the rows a batch touched: most tokens are rare."""

    def __init__(self, shape):
        self.first, self.second = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.steps = np.zeros(shape[0], np.int32)

    def step(self, table, touched, gradient, rate):
        self.steps[touched] += 1
        first = 0.9 * self.first[touched] + 0.1 * gradient
        second = 0.99 * self.second[touched] + 0.01 * gradient * gradient
        self.first[touched], self.second[touched] = first, second
        steps = self.steps[touched][:, None]
        table[touched] -= rate * (first / (1 - 0.9**steps)) / (np.sqrt(second / (1 - 0.99**steps)) + 1e-8)


def batches():
    """Tools of one server sit in the same batch, so that the closest siblings are each other's negatives."""
    shares = np.array([float(share) for share in options.kinds.split(",")])
    kept = pairs[random.random(len(pairs)) < shares[pairs[:, 2]]]
    kept = kept[random.permutation(len(kept))]
    kept = kept[np.argsort(kept[:, 3], kind="stable")]
    position = np.arange(len(kept))
    starts = np.concatenate([[0], np.flatnonzero(np.diff(kept[:, 3])) + 1])
    lengths = np.diff(np.concatenate([starts, [len(kept)]]))
    within = position - np.repeat(starts, lengths)
    chunk = kept[:, 3].astype(np.int64) * 100_000 + within // options.group
    names, chunk = np.unique(chunk, return_inverse=True)
    order = np.argsort(random.permutation(len(names))[chunk], kind="stable")
    kept = kept[order]
    for start in range(0, len(kept) - options.batch // 2, options.batch):
        yield kept[start : start + options.batch]


def contrast(left, right, batch):
    scores = (left @ right.T) / options.temperature
    same = (batch[:, 0][:, None] == batch[:, 0][None, :]) | (batch[:, 1][:, None] == batch[:, 1][None, :])
    np.fill_diagonal(same, False)
    scores[same] = -1e4
    size = len(batch)
    total, gradient = 0.0, np.zeros_like(scores)
    for axis in (1, 0):
        shifted = scores - scores.max(axis=axis, keepdims=True)
        weights = np.exp(shifted)
        weights /= weights.sum(axis=axis, keepdims=True)
        total -= np.log(np.maximum(np.diagonal(weights), 1e-9)).mean()
        gradient += weights
    gradient[np.arange(size), np.arange(size)] -= 2.0
    gradient /= size * options.temperature * 2
    return total / 2, gradient @ right, gradient.T @ left


def follow(vectors, goals):
    """The teacher's similarities among the texts of a batch, followed row by row, and its directions themselves."""
    sharp = options.teacher_temperature
    wanted = (goals @ goals.T) / sharp
    scores = (vectors @ vectors.T) / sharp
    for matrix in (wanted, scores):
        np.fill_diagonal(matrix, -1e4)
        matrix -= matrix.max(axis=1, keepdims=True)
        np.exp(matrix, out=matrix)
        matrix /= matrix.sum(axis=1, keepdims=True)
    gradient = (scores - wanted) / (len(goals) * sharp)
    directions = -goals / len(goals)
    return (gradient + gradient.T) @ vectors * 0.5 + directions


def train(table, targets):
    optimizer = LazyAdam(table.shape)
    began = time.time()

    def teach(count, rate):
        chosen = random.choice(len(taught), count, replace=False)
        bag, touched = bags(taught[chosen], options.dropout / 2)
        vectors, norms = forward(table, bag, touched)
        gradient = follow(vectors, targets[chosen]) * options.teacher
        return touched, backward(bag, vectors, norms, gradient), rate

    for epoch in range(options.warm):
        for _ in range(len(taught) // 768):
            touched, gradient, _ = teach(768, options.rate)
            optimizer.step(table, touched, gradient, options.rate)
        report(table, f"teacher {epoch + 1} ({time.time() - began:.0f} s)")
    for epoch in range(options.epochs):
        rate = options.rate * (1 - epoch / options.epochs)
        losses = []
        for batch in batches():
            bag, touched = bags(np.concatenate([batch[:, 0], batch[:, 1]]), options.dropout)
            vectors, norms = forward(table, bag, touched)
            size = len(batch)
            loss, left, right = contrast(vectors[:size], vectors[size:], batch)
            losses.append(loss)
            optimizer.step(table, touched, backward(bag, vectors, norms, np.concatenate([left, right])), rate)
            if options.teacher > 0:
                touched, gradient, _ = teach(384, rate)
                optimizer.step(table, touched, gradient, rate)
        report(table, f"epoch {epoch + 1} loss {np.mean(losses):.3f} ({time.time() - began:.0f} s)")
    return table


def quantized(table):
    scales = np.maximum(np.abs(table).max(axis=1), 1e-9) / 127
    return np.round(table / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def report(table, label):
    """--dev names a folder with a measure.py (`summary(table)`), to follow the training on sets of requests."""
    if options.dev is None:
        print(label, flush=True)
        return
    sys.path.insert(0, options.dev)
    import measure

    print(label, measure.summary(table), flush=True)


if __name__ == "__main__":
    table, targets = distilled_table()
    report(table, "distilled")
    table = train(table, targets)
    rows, scales = quantized(table)
    report(rows * scales[:, None], "int8")
    if options.out is not None:
        with open(os.path.join(options.out, "embedding-table.bin"), "wb") as file:
            file.write(np.array([len(table), options.dimensions], np.uint32).tobytes())
            file.write(scales.tobytes())
            file.write(rows.tobytes())
