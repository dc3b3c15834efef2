/**
 * Tells whether the Levenshtein distance of two texts is at most some limit: Myers' bit-parallel columns in 32-bit
 * blocks, only the blocks that a path of that cost can touch. One text is prepared and then compared with many; scratch
 * memory is reused, so a meter serves one deduplication.
 */
export interface DistanceMeter {
  prepare(text: Uint16Array): void;
  atMost(other: Uint16Array, limit: number): boolean;
  /** Block steps done so far: a measure of work that does not depend on the machine. */
  readonly steps: number;
}

const blockBits = 32;
/** Duplicates are mostly far closer than the limit allows, and a narrow band costs little. */
const firstLimit = 96;

export function distanceMeter(): DistanceMeter {
  /** Row of the match table by character, 0 for characters that the prepared text lacks. */
  const rowOf = new Uint16Array(1 << 16);
  let prepared: Uint16Array = new Uint16Array(0);
  let blocks = 0;
  let matches = new Int32Array(0);
  let positive = new Int32Array(0);
  let negative = new Int32Array(0);
  let steps = 0;

  return {
    get steps() {
      return steps;
    },
    prepare(text) {
      for (let i = 0; i < prepared.length; i++) rowOf[prepared[i] ?? 0] = 0;
      prepared = text;
      blocks = Math.ceil(text.length / blockBits);
      fillMatches(text);
    },
    atMost(other, limit) {
      const difference = Math.abs(prepared.length - other.length);
      if (limit < difference) return false;
      if (limit >= Math.max(prepared.length, other.length)) return true;
      if (prepared.length === 0 || other.length === 0) return true;
      const narrow = difference + firstLimit;
      return (narrow < limit && isWithin(other, narrow)) || isWithin(other, limit);
    },
  };

  function fillMatches(text: Uint16Array): void {
    let rows = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text[i] ?? 0;
      if (rowOf[code] === 0) rowOf[code] = ++rows;
    }
    const needed = (rows + 1) * blocks;
    if (matches.length < needed) matches = new Int32Array(needed);
    else matches.fill(0, 0, needed);
    for (let i = 0; i < text.length; i++) {
      const at = (rowOf[text[i] ?? 0] ?? 0) * blocks + (i >>> 5);
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
  function isWithin(other: Uint16Array, limit: number): boolean {
    const pvs = positive;
    const mvs = negative;
    const eqs = matches;
    const rows = prepared.length;
    const columns = other.length;
    const lastBlock = blocks - 1;
    const lastRows = rows - lastBlock * blockBits;
    const lastUsed = lastRows === blockBits ? -1 : (1 << lastRows) - 1;
    const slack = (limit - Math.abs(rows - columns)) >> 1;
    const above = slack + Math.max(0, columns - rows);
    const below = slack + Math.max(0, rows - columns);
    let first = 0;
    let last = -1;
    let lastAllowed = lastBlock;
    let score = 0;
    for (let column = 0; column < columns; column++) {
      if (column - above >= (first + 1) * blockBits) first++;
      const wanted = Math.min(lastAllowed, Math.min(rows - 1, column + below) >>> 5);
      while (last < wanted) {
        last++;
        pvs[last] = -1;
        mvs[last] = 0;
        score += last === lastBlock ? lastRows : blockBits;
      }
      steps += last - first + 1;
      score += advance(
        pvs,
        mvs,
        eqs,
        (rowOf[other[column] ?? 0] ?? 0) * blocks,
        first,
        last,
        last === lastBlock ? lastRows - 1 : 31,
      );

      if ((column & 31) === 31) {
        // Values never fall along a diagonal, so a block without a cell that can still end within the limit is done
        // with, and in the next 32 columns the band can grow by one block at most.
        let bottom = score;
        let lowest = -1;
        let highest = -1;
        for (let block = last; block >= first; block--) {
          const drift = Math.abs(rows - Math.min(rows, (block + 1) * blockBits) - (columns - column - 1));
          if (bottom + drift - 2 * blockBits < limit) {
            lowest = block;
            if (highest < 0) highest = block;
          }
          bottom -= rise(pvs, mvs, block, block === lastBlock ? lastUsed : -1);
        }
        if (lowest < 0) return false;
        first = lowest;
        lastAllowed = Math.min(lastBlock, highest + 1);
        for (; last > lastAllowed; last--) score -= rise(pvs, mvs, last, last === lastBlock ? lastUsed : -1);
      }
    }
    return last === lastBlock && score <= limit;
  }
}

/** One column of the band; returns by how much the value in its lowest row changed. */
function advance(
  pvs: Int32Array,
  mvs: Int32Array,
  eqs: Int32Array,
  offset: number,
  first: number,
  last: number,
  lastShift: number,
): number {
  // The horizontal difference that enters a block from above, as two bits: it grows, it falls.
  let grows = 1;
  let falls = 0;
  for (let block = first; block < last; block++) {
    const pv = pvs[block] ?? 0;
    const mv = mvs[block] ?? 0;
    const eq = eqs[offset + block] ?? 0;
    const xv = eq | mv;
    const entering = eq | falls;
    const xh = (((entering & pv) + pv) ^ pv) | entering;
    const ph = mv | ~(xh | pv);
    const mh = pv & xh;
    const shifted = (ph << 1) | grows;
    pvs[block] = (mh << 1) | falls | ~(xv | shifted);
    mvs[block] = shifted & xv;
    grows = ph >>> 31;
    falls = mh >>> 31;
  }
  const pv = pvs[last] ?? 0;
  const mv = mvs[last] ?? 0;
  const eq = eqs[offset + last] ?? 0;
  const xv = eq | mv;
  const entering = eq | falls;
  const xh = (((entering & pv) + pv) ^ pv) | entering;
  const ph = mv | ~(xh | pv);
  const mh = pv & xh;
  const shifted = (ph << 1) | grows;
  pvs[last] = (mh << 1) | falls | ~(xv | shifted);
  mvs[last] = shifted & xv;
  return ((ph >>> lastShift) & 1) - ((mh >>> lastShift) & 1);
}

/** By how much the values grow from the top to the bottom of a block. */
function rise(pvs: Int32Array, mvs: Int32Array, block: number, used: number): number {
  return countBits((pvs[block] ?? 0) & used) - countBits((mvs[block] ?? 0) & used);
}

function countBits(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
