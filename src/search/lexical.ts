import { stem } from '../similarity/stem.ts';
import { type SearchableTool, toDescription, toParameters } from './tool.ts';
import { toWords } from './words.ts';

/**
 * BM25F over the fields of a tool, plus the server's name as a score of its own: a request that names a platform wants
 * its tools first, but a server's words must never dilute what the tool itself says.
 */
export interface LexicalIndex {
  readonly size: number;
  add(slot: number, tool: SearchableTool): void;
  remove(slot: number): void;
  score(query: LexicalQuery): LexicalScores;
  explain(query: LexicalQuery, slot: number): string[];
}

interface LexicalQuery {
  /** Stemmed terms with how often they occur. */
  terms: Map<string, number>;
}

interface LexicalScores {
  /** BM25F by slot, divided by the most this request could reach: 0 to 1 whatever the request's length. */
  tool: Float32Array;
  /** Share of the request's weight (idf) that the tool's own words explain, by slot. */
  covered: Float32Array;
  /** Share of the tool's name that the request says, by slot. */
  named: Float32Array;
  /** How strongly the request names the tool's server, by slot. */
  server: Float32Array;
  /** Share of the request's weight that any tool of the index knows at all. */
  known: number;
}

const fields = ['name', 'title', 'description', 'parameterNames', 'parameterDescriptions'] as const;
const fieldCount = fields.length;
const fieldWeights = [2, 1.2, 1, 0.6, 0.3];
const lengthPenalties = [0.3, 0.3, 0.75, 0.75, 0.75];
const saturation = 1.2;
/** Words that more tools than this share hold tell tools apart no more; leaving them out also makes requests faster. */
const commonShare = 0.4;

interface Postings {
  slots: Int32Array;
  /** How often the term occurs, `fieldCount` numbers for each slot. */
  counts: Uint8Array;
  length: number;
}

interface ServerEntry {
  terms: string[];
  slots: Set<number>;
}

export function createLexicalIndex(): LexicalIndex {
  const postings = new Map<string, Postings>();
  const termsBySlot = new Map<number, string[]>();
  const serverBySlot = new Map<number, string>();
  const servers = new Map<string, ServerEntry>();
  const serversByTerm = new Map<string, Set<string>>();
  const totals = new Float64Array(fieldCount);
  let lengths = new Uint16Array(0);
  let nameShares = new Float32Array(0);
  let norms = new Float32Array(0);
  let normsAreStale = true;
  let capacity = 0;

  function grow(slot: number): void {
    if (slot < capacity) return;
    capacity = Math.max(1024, slot + 1, capacity * 2);
    const wider = new Uint16Array(capacity * fieldCount);
    wider.set(lengths);
    lengths = wider;
    norms = new Float32Array(capacity * fieldCount);
    const widerShares = new Float32Array(capacity);
    widerShares.set(nameShares);
    nameShares = widerShares;
  }

  function add(slot: number, tool: SearchableTool): void {
    grow(slot);
    const counts = new Map<string, Uint8Array>();
    for (const [field, text] of toFieldTexts(tool).entries()) {
      const terms = toTerms(text);
      lengths[slot * fieldCount + field] = Math.min(terms.length, 65_535);
      totals[field] = (totals[field] as number) + terms.length;
      for (const term of terms) {
        let row = counts.get(term);
        if (row === undefined) {
          row = new Uint8Array(fieldCount);
          counts.set(term, row);
        }
        if ((row[field] as number) < 255) row[field] = (row[field] as number) + 1;
      }
    }
    for (const [term, row] of counts) append(term, slot, row);
    termsBySlot.set(slot, [...counts.keys()]);
    nameShares[slot] = 1 / Math.max(1, new Set(toTerms(tool.originalName)).size);
    addServer(slot, tool.server);
    normsAreStale = true;
  }

  function append(term: string, slot: number, row: Uint8Array): void {
    let list = postings.get(term);
    if (list === undefined) {
      list = { slots: new Int32Array(2), counts: new Uint8Array(2 * fieldCount), length: 0 };
      postings.set(term, list);
    }
    if (list.length === list.slots.length) {
      const slots = new Int32Array(list.length * 2);
      slots.set(list.slots);
      const counts = new Uint8Array(list.length * 2 * fieldCount);
      counts.set(list.counts);
      list.slots = slots;
      list.counts = counts;
    }
    list.slots[list.length] = slot;
    list.counts.set(row, list.length * fieldCount);
    list.length++;
  }

  function remove(slot: number): void {
    const terms = termsBySlot.get(slot);
    if (terms === undefined) return;
    for (const term of terms) drop(term, slot);
    for (let field = 0; field < fieldCount; field++) {
      totals[field] = (totals[field] as number) - (lengths[slot * fieldCount + field] as number);
      lengths[slot * fieldCount + field] = 0;
    }
    termsBySlot.delete(slot);
    removeServer(slot);
    normsAreStale = true;
  }

  function drop(term: string, slot: number): void {
    const list = postings.get(term);
    if (list === undefined) return;
    const position = list.slots.subarray(0, list.length).indexOf(slot);
    if (position === -1) return;
    const last = list.length - 1;
    list.slots[position] = list.slots[last] as number;
    list.counts.copyWithin(position * fieldCount, last * fieldCount, list.length * fieldCount);
    list.length = last;
    if (last === 0) postings.delete(term);
  }

  function addServer(slot: number, name: string): void {
    let entry = servers.get(name);
    if (entry === undefined) {
      entry = { terms: toServerTerms(name), slots: new Set() };
      servers.set(name, entry);
      for (const term of entry.terms) {
        const holders = serversByTerm.get(term) ?? new Set();
        holders.add(name);
        serversByTerm.set(term, holders);
      }
    }
    entry.slots.add(slot);
    serverBySlot.set(slot, name);
  }

  function removeServer(slot: number): void {
    const name = serverBySlot.get(slot);
    const entry = name === undefined ? undefined : servers.get(name);
    if (name === undefined || entry === undefined) return;
    serverBySlot.delete(slot);
    entry.slots.delete(slot);
    if (entry.slots.size > 0) return;
    servers.delete(name);
    for (const term of entry.terms) {
      const holders = serversByTerm.get(term);
      holders?.delete(name);
      if (holders?.size === 0) serversByTerm.delete(term);
    }
  }

  function refreshNorms(): void {
    const count = Math.max(1, termsBySlot.size);
    const averages = Array.from(totals, (total) => Math.max(total / count, 1e-6));
    for (let index = 0; index < norms.length; index++) {
      const field = index % fieldCount;
      const penalty = lengthPenalties[field] ?? 0;
      norms[index] =
        (fieldWeights[field] ?? 0) / (1 - penalty + (penalty * (lengths[index] as number)) / (averages[field] ?? 1));
    }
    normsAreStale = false;
  }

  function inverseFrequency(term: string): number {
    const count = termsBySlot.size;
    const frequency = postings.get(term)?.length ?? 0;
    return Math.log(1 + (count - frequency + 0.5) / (frequency + 0.5));
  }

  function score(query: LexicalQuery): LexicalScores {
    if (normsAreStale) refreshNorms();
    const tool = new Float32Array(capacity);
    const covered = new Float32Array(capacity);
    const named = new Float32Array(capacity);
    const weights = [...query.terms]
      .filter(([term]) => (postings.get(term)?.length ?? 0) <= commonShare * termsBySlot.size + 20)
      .map(([term, occurrences]) => ({ term, occurrences, idf: inverseFrequency(term) }));
    const whole = weights.reduce((sum, { idf }) => sum + idf, 0);
    const most = weights.reduce((sum, { idf, occurrences }) => sum + idf * occurrences, 0);
    let known = 0;
    for (const { term, occurrences, idf } of weights) {
      const list = postings.get(term);
      if (list === undefined) continue;
      known += idf / whole;
      const factor = (idf * occurrences) / most;
      const share = idf / whole;
      // Reads stay inside the arrays' bounds, which the checker cannot know. One helper for all of them would be slow: an
      // access that meets five kinds of arrays is never compiled for any.
      const { slots, counts, length } = list;
      for (let entry = 0; entry < length; entry++) {
        const slot = slots[entry] as number;
        const from = entry * fieldCount;
        const normFrom = slot * fieldCount;
        let frequency = 0;
        for (let field = 0; field < fieldCount; field++) {
          frequency += (counts[from + field] as number) * (norms[normFrom + field] as number);
        }
        tool[slot] = (tool[slot] as number) + (factor * frequency) / (saturation + frequency);
        covered[slot] = (covered[slot] as number) + share;
        if ((counts[from] as number) > 0) named[slot] = (named[slot] as number) + (nameShares[slot] as number);
      }
    }
    return { tool, covered, named, server: scoreServers(query), known };
  }

  /** Rare among server names is what counts here: in a catalog of Azure servers «azure» names none of them. */
  function scoreServers(query: LexicalQuery): Float32Array {
    const scores = new Float32Array(capacity);
    const matched = new Map<string, number>();
    const ceiling = Math.log(1 + servers.size / 1.5);
    for (const term of query.terms.keys()) {
      const holders = serversByTerm.get(term);
      if (holders === undefined) continue;
      const idf = Math.log(1 + (servers.size - holders.size + 0.5) / (holders.size + 0.5)) / Math.max(ceiling, 1e-6);
      for (const name of holders) matched.set(name, (matched.get(name) ?? 0) + idf);
    }
    for (const [name, weight] of matched) {
      for (const slot of servers.get(name)?.slots ?? []) scores[slot] = Math.min(1, weight);
    }
    return scores;
  }

  function explain(query: LexicalQuery, slot: number): string[] {
    const terms = termsBySlot.get(slot) ?? [];
    return terms
      .filter((term) => query.terms.has(term))
      .sort((a, b) => inverseFrequency(b) - inverseFrequency(a) || (a < b ? -1 : 1));
  }

  return {
    get size() {
      return termsBySlot.size;
    },
    add,
    remove,
    score,
    explain,
  };
}

export function toLexicalQuery(text: string): LexicalQuery {
  const terms = new Map<string, number>();
  for (const term of toTerms(text)) terms.set(term, (terms.get(term) ?? 0) + 1);
  return { terms };
}

function toFieldTexts(tool: SearchableTool): string[] {
  const parameters = toParameters(tool.inputSchema);
  return [
    tool.originalName,
    tool.title ?? '',
    toDescription(tool),
    parameters.map(({ name }) => name).join(' '),
    parameters.map(({ description }) => description).join(' '),
  ];
}

export function toTerms(text: string): string[] {
  const terms: string[] = [];
  for (const { whole, parts } of toWords(text)) {
    terms.push(stem(whole));
    for (const part of parts) terms.push(stem(part));
  }
  return terms;
}

// Words that servers carry because they are servers.
const serverNoise = new Set(
  ['mcp', 'server', 'api', 'the', 'for', 'and', 'of', 'a', 'model', 'context', 'protocol'].map(stem),
);

function toServerTerms(name: string): string[] {
  return [...new Set(toTerms(name))].filter((term) => !serverNoise.has(term));
}
