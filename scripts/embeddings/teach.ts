/**
 * Step 2: MiniLM's vectors of every vocabulary token and of the texts chosen in step 1.
 * node teach.ts --model folder --runtime path-of-onnxruntime-node --out folder
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

interface Tensor {
  data: Float32Array;
}
interface Runtime {
  InferenceSession: {
    create(
      path: string,
      options: object,
    ): Promise<{ run(feeds: object): Promise<Record<string, Tensor>>; inputNames: string[] }>;
  };
  Tensor: new (type: string, data: BigInt64Array, dimensions: number[]) => Tensor;
}

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: '' },
    runtime: { type: 'string', default: 'onnxruntime-node' },
    out: { type: 'string', default: '' },
    tokens: { type: 'boolean', default: false },
  },
});

const dimensions = 384;
const longest = 72;
const runtime = createRequire(import.meta.url)(values.runtime) as Runtime;
const session = await runtime.InferenceSession.create(join(values.model, 'onnx/model_q4.onnx'), {
  intraOpNumThreads: 2,
});
const vocabulary = readFileSync(join(values.model, 'vocab.txt'), 'utf8').trimEnd().split('\n');
const ids = new Map(vocabulary.map((token, id) => [token, id]));
const cls = ids.get('[CLS]') ?? 0;
const sep = ids.get('[SEP]') ?? 0;

async function embed(batch: number[][]): Promise<Float32Array> {
  const width = Math.max(...batch.map((pieces) => pieces.length)) + 2;
  const size = batch.length * width;
  const input = new BigInt64Array(size);
  const mask = new BigInt64Array(size);
  for (const [row, pieces] of batch.entries()) {
    for (const [column, id] of [cls, ...pieces, sep].entries()) {
      input[row * width + column] = BigInt(id);
      mask[row * width + column] = 1n;
    }
  }
  const shape = [batch.length, width];
  const feeds: Record<string, Tensor> = {
    input_ids: new runtime.Tensor('int64', input, shape),
    attention_mask: new runtime.Tensor('int64', mask, shape),
    token_type_ids: new runtime.Tensor('int64', new BigInt64Array(size), shape),
  };
  for (const name of Object.keys(feeds)) if (!session.inputNames.includes(name)) delete feeds[name];
  const output = await session.run(feeds);
  const states = output.last_hidden_state?.data ?? new Float32Array();
  const pooled = new Float32Array(batch.length * dimensions);
  for (const [row, pieces] of batch.entries()) {
    const count = pieces.length + 2;
    for (let column = 0; column < count; column++) {
      const from = (row * width + column) * dimensions;
      for (let d = 0; d < dimensions; d++) {
        const at = row * dimensions + d;
        pooled[at] = (pooled[at] as number) + (states[from + d] as number) / count;
      }
    }
  }
  return pooled;
}

async function embedAll(rows: number[][], label: string): Promise<Float32Array> {
  const result = new Float32Array(rows.length * dimensions);
  // Texts of one length share a batch: padding costs as much as text.
  const order = rows.map((row, index) => ({ row, index })).sort((a, b) => a.row.length - b.row.length);
  for (let start = 0; start < order.length; start += 32) {
    const picked = order.slice(start, start + 32);
    const vectors = await embed(picked.map(({ row }) => row));
    for (const [position, { index }] of picked.entries()) {
      result.set(vectors.subarray(position * dimensions, (position + 1) * dimensions), index * dimensions);
    }
    if (start % 3200 === 0) console.log(`${label} ${start} of ${order.length}`);
  }
  return result;
}

/** Unlike the product's split this one keeps punctuation: the teacher was trained with it. */
function bertPieces(text: string): number[] {
  const pieces: number[] = [];
  for (const [word] of text
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .matchAll(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu)) {
    for (let start = 0; start < word.length; ) {
      const pieceAt = (end: number) => ids.get(start === 0 ? word.slice(0, end) : `##${word.slice(start, end)}`);
      let end = word.length;
      while (end > start && pieceAt(end) === undefined) end--;
      const piece = pieceAt(end);
      if (end === start || piece === undefined) break;
      pieces.push(piece);
      start = end;
    }
  }
  return pieces.slice(0, longest);
}

if (values.tokens) {
  writeFileSync(
    join(values.out, 'token-vectors.f32'),
    await embedAll(
      vocabulary.map((_, id) => [id]),
      'tokens',
    ),
  );
} else {
  const texts = JSON.parse(readFileSync(join(values.out, 'texts.json'), 'utf8')) as string[];
  const bytes = readFileSync(join(values.out, 'taught.bin'));
  const taught = [...new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)];
  writeFileSync(
    join(values.out, 'text-vectors.f32'),
    await embedAll(
      taught.map((id) => bertPieces(texts[id] ?? '')),
      'texts',
    ),
  );
}
