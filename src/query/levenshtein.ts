/**
 * Is the Levenshtein distance of two strings at most `limit`? Myers' bit-parallel columns in 32-bit blocks, only the
 * blocks that a path of that cost can touch. Scratch memory is reused between calls: one instance per deduplication.
 */
export interface DistanceMeter {
  atMost(a: string, b: string, limit: number): boolean;
  /** Block steps done so far: a measure of work that does not depend on the machine. */
  readonly steps: number;
}

const blockBits = 32;
const firstTryLimit = 48;

export function distanceMeter(): DistanceMeter {
  let matches = new Int32Array(0);
  let positive = new Int32Array(0);
  let negative = new Int32Array(0);
  const codes = new Map<number, number>();
  let steps = 0;

  return {
    get steps() {
      return steps;
    },
    atMost(a, b, limit) {
      if (limit < 0) return false;
      let [long, short] = a.length >= b.length ? [a, b] : [b, a];
      if (long.length - short.length > limit) return false;
      const start = commonPrefix(long, short);
      const end = commonSuffix(long, short, start);
      long = long.slice(start, long.length - end);
      short = short.slice(start, short.length - end);
      if (short.length === 0) return true;
      if (limit >= long.length) return true;

      const blocks = Math.ceil(long.length / blockBits);
      fillMatches(long, blocks);
      // Duplicates are mostly far closer than the limit allows, and a narrow band costs little.
      let tried = Math.min(limit, Math.max(firstTryLimit, long.length - short.length));
      while (!within(long, short, blocks, tried)) {
        if (tried === limit) return false;
        tried = Math.min(limit, tried * 4);
      }
      return true;
    },
  };

  function fillMatches(long: string, blocks: number): void {
    codes.clear();
    for (let i = 0; i < long.length; i++) {
      const code = long.charCodeAt(i);
      if (!codes.has(code)) codes.set(code, codes.size);
    }
    const needed = codes.size * blocks;
    if (matches.length < needed) matches = new Int32Array(needed);
    else matches.fill(0, 0, needed);
    for (let i = 0; i < long.length; i++) {
      const row = codes.get(long.charCodeAt(i)) ?? 0;
      const at = row * blocks + (i >>> 5);
      matches[at] = (matches[at] ?? 0) | (1 << (i & 31));
    }
    if (positive.length < blocks) {
      positive = new Int32Array(blocks);
      negative = new Int32Array(blocks);
    }
  }

  /**
   * Cells outside the band are taken to grow by one per step, which is never less than their true value, so a result
   * within the limit is exact and a larger one means that no path within the limit exists.
   */
  function within(long: string, short: string, blocks: number, limit: number): boolean {
    const pvs = positive;
    const mvs = negative;
    const eqs = matches;
    const rows = long.length;
    const columns = short.length;
    const slack = (limit - (rows - columns)) >> 1;
    const below = rows - columns + slack;
    const lastBit = 1 << ((rows - 1) & 31);
    let first = 0;
    let last = -1;
    let lastAllowed = blocks - 1;
    let score = 0;
    for (let column = 0; column < columns; column++) {
      first = Math.max(first, Math.max(0, column - slack) >>> 5);
      const wanted = Math.min(lastAllowed, Math.min(rows - 1, column + below) >>> 5);
      while (last < wanted) {
        last++;
        pvs[last] = -1;
        mvs[last] = 0;
        score += last === blocks - 1 ? rows - last * blockBits : blockBits;
      }
      const row = codes.get(short.charCodeAt(column));
      const offset = row === undefined ? -1 : row * blocks;
      let carry = 1;
      steps += last - first + 1;
      for (let block = first; block <= last; block++) {
        const pv = pvs[block] ?? 0;
        const mv = mvs[block] ?? 0;
        let eq = offset < 0 ? 0 : (eqs[offset + block] ?? 0);
        const xv = eq | mv;
        if (carry < 0) eq |= 1;
        const xh = ((((eq & pv) + pv) | 0) ^ pv) | eq;
        let ph = mv | ~(xh | pv);
        let mh = pv & xh;
        const top = block === blocks - 1 ? lastBit : 1 << 31;
        const out = (ph & top) !== 0 ? 1 : (mh & top) !== 0 ? -1 : 0;
        ph = (ph << 1) | (carry > 0 ? 1 : 0);
        mh = (mh << 1) | (carry < 0 ? 1 : 0);
        pvs[block] = mh | ~(xv | ph);
        mvs[block] = ph & xv;
        carry = out;
      }
      score += carry;

      if ((column & 31) === 31) {
        // Values never fall along a diagonal, so a block without a cell that can still end within the limit is done
        // with, and in the next 32 columns the band can grow by one block at most.
        let bottom = score;
        let lowest = -1;
        let highest = -1;
        for (let block = last; block >= first; block--) {
          const bottomRow = Math.min(rows, (block + 1) * blockBits);
          const drift = Math.abs(rows - bottomRow - (columns - column - 1));
          if (bottom + drift - 2 * blockBits <= limit) {
            lowest = block;
            if (highest < 0) highest = block;
          }
          const used = block === blocks - 1 ? lastBit | (lastBit - 1) : -1;
          bottom += countBits((mvs[block] ?? 0) & used) - countBits((pvs[block] ?? 0) & used);
        }
        if (lowest < 0) return false;
        first = lowest;
        lastAllowed = Math.min(blocks - 1, highest + 1);
        while (last > lastAllowed) {
          const used = last === blocks - 1 ? lastBit | (lastBit - 1) : -1;
          score += countBits((mvs[last] ?? 0) & used) - countBits((pvs[last] ?? 0) & used);
          last--;
        }
      }
    }
    return last === blocks - 1 && score <= limit;
  }
}

function countBits(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

function commonPrefix(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length;
}

function commonSuffix(a: string, b: string, prefix: number): number {
  const most = Math.min(a.length, b.length) - prefix;
  let length = 0;
  while (length < most && a.charCodeAt(a.length - 1 - length) === b.charCodeAt(b.length - 1 - length)) length++;
  return length;
}
