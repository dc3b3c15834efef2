import { stem } from '../similarity/stem.ts';
import { stopWords } from '../similarity/stop-words.ts';
import type { Scratch } from './scratch.ts';
import { type SearchableTool, toDescription, toParameters } from './tool.ts';
import { toWords } from './words.ts';

/**
 * BM25F over the fields of a tool, plus the server's name as a score of its own: a request that names a platform wants
 * its tools first, but a server's words must never dilute what the tool itself says.
 */
export interface LexicalIndex {
  readonly size: number;
  /** Above every slot in use. */
  readonly capacity: number;
  add(slot: number, tool: SearchableTool): void;
  remove(slot: number): void;
  /** Adds the weighted evidence for every tool that has a word of the request to `scores`, by slot. */
  score(query: LexicalQuery, weights: LexicalWeights, scores: Float32Array): void;
  /** What the server's name and its own text say, by the number that `serverOfSlot` gives it. */
  describeServer(server: number, text: string): void;
  /** The share of the request's weight (idf) that each tool explains, and each server with all its tools and its own text. */
  coverage(query: LexicalQuery, serverOfSlot: Int32Array, serverCount: number, scratch: Scratch): Coverage;
  /** How strongly the request names each server, by the server's name; servers it does not name are missing. */
  serversNamed(query: LexicalQuery): Map<string, number>;
  /** The words of a tool that are in the request too, as the tool spells them, the rarest first. */
  explain(query: LexicalQuery, tool: SearchableTool): string[];
}

interface LexicalQuery {
  /** Stemmed terms with how often they occur. */
  terms: Map<string, number>;
}

interface Coverage {
  /** By slot. */
  tools: Float32Array;
  /** By server number. */
  servers: Float32Array;
}

/** Every kind of evidence lies between 0 and 1, whatever the request's length. */
export interface LexicalWeights {
  /** BM25F, divided by the most this request could reach. */
  lexical: number;
  /** Share of the request's weight (idf) that the tool's own words explain. */
  covered: number;
  /** Share of the tool's name that the request says. */
  named: number;
}

const fields = ['name', 'title', 'description', 'parameterNames', 'parameterDescriptions'] as const;
const fieldCount = fields.length;
const fieldWeights = [2, 1.2, 1, 0.6, 0.3];
const lengthPenalties = [0.3, 0.3, 0.75, 0.75, 0.75];
const saturation = 1.2;
/** Words that more tools than this share hold tell tools apart no more; leaving them out also makes requests faster. */
const commonShare = 0.4;

const noImpacts = new Float32Array(0);

interface Postings {
  slots: Int32Array;
  /** How often the term occurs, `fieldCount` numbers for each slot. */
  counts: Uint8Array;
  length: number;
  /** The saturated frequency of each entry, and its share of the tool's name, as of `version`; made when they are needed. */
  impacts: Float32Array;
  nameShares: Float32Array;
  version: number;
}

const noPostings = { slots: new Int32Array(0), length: 0 };
/** Instructions can be long; what a server is for stands at the beginning. */
const maxServerText = 2_000;
const maxServerTerms = 200;

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
  /** By what the server says of itself. */
  const describedByTerm = new Map<string, number[]>();
  const descriptions = new Map<number, Set<string>>();
  const totals = new Float64Array(fieldCount);
  let lengths = new Uint16Array(0);
  let nameShares = new Float32Array(0);
  let averages = new Float64Array(fieldCount).fill(1);
  let averagesAreStale = true;
  let version = 0;
  let capacity = 0;

  function grow(slot: number): void {
    if (slot < capacity) return;
    capacity = Math.max(1024, slot + 1, capacity * 2);
    const wider = new Uint16Array(capacity * fieldCount);
    wider.set(lengths);
    lengths = wider;
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
    averagesAreStale = true;
  }

  function append(term: string, slot: number, row: Uint8Array): void {
    let list = postings.get(term);
    if (list === undefined) {
      const [slots, counts] = [new Int32Array(2), new Uint8Array(2 * fieldCount)];
      list = { slots, counts, length: 0, impacts: noImpacts, nameShares: noImpacts, version: -1 };
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
    list.version = -1;
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
    averagesAreStale = true;
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
    list.version = -1;
    if (last === 0) postings.delete(term);
  }

  function addServer(slot: number, name: string): void {
    let entry = servers.get(name);
    if (entry === undefined) {
      entry = { terms: toServerTerms(name), slots: new Set() };
      servers.set(name, entry);
      for (const term of entry.terms) serversByTerm.set(term, (serversByTerm.get(term) ?? new Set()).add(name));
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

  function describeServer(server: number, text: string): void {
    for (const term of descriptions.get(server) ?? []) {
      const others = describedByTerm.get(term)?.filter((other) => other !== server) ?? [];
      if (others.length === 0) describedByTerm.delete(term);
      else describedByTerm.set(term, others);
    }
    const terms = new Set(toTerms(text.slice(0, maxServerText)).slice(0, maxServerTerms));
    for (const word of stopWords) terms.delete(word);
    if (terms.size === 0) descriptions.delete(server);
    else descriptions.set(server, terms);
    for (const term of terms) {
      const holders = describedByTerm.get(term);
      if (holders === undefined) describedByTerm.set(term, [server]);
      else holders.push(server);
    }
  }

  function refreshAverages(): void {
    const count = Math.max(1, termsBySlot.size);
    averages = totals.map((total) => Math.max(total / count, 1e-6));
    averagesAreStale = false;
    version++;
  }

  /** A word costs this once after a change, and then one multiplication for each tool that has it. */
  function refreshImpacts(list: Postings): void {
    const { slots, counts, length } = list;
    const impacts = new Float32Array(length);
    const shares = new Float32Array(length);
    for (let entry = 0; entry < length; entry++) {
      const slot = slots[entry] as number;
      let frequency = 0;
      for (let field = 0; field < fieldCount; field++) {
        const count = counts[entry * fieldCount + field] as number;
        if (count === 0) continue;
        const penalty = lengthPenalties[field] as number;
        const share = (lengths[slot * fieldCount + field] as number) / (averages[field] as number);
        frequency += (count * (fieldWeights[field] as number)) / (1 - penalty + penalty * share);
      }
      impacts[entry] = frequency / (saturation + frequency);
      shares[entry] = (counts[entry * fieldCount] as number) > 0 ? (nameShares[slot] as number) : 0;
    }
    list.impacts = impacts;
    list.nameShares = shares;
    list.version = version;
  }

  function inverseFrequency(term: string): number {
    const count = termsBySlot.size;
    const frequency = postings.get(term)?.length ?? 0;
    return Math.log(1 + (count - frequency + 0.5) / (frequency + 0.5));
  }

  function weigh(query: LexicalQuery) {
    const terms = [...query.terms]
      .filter(([term]) => !isCommon(term))
      .map(([term, occurrences]) => ({ term, occurrences, idf: inverseFrequency(term) }));
    const whole = terms.reduce((sum, { idf }) => sum + idf, 0);
    return terms.map((term) => ({ ...term, share: term.idf / whole }));
  }

  function score(query: LexicalQuery, weights: LexicalWeights, scores: Float32Array): void {
    if (averagesAreStale) refreshAverages();
    const terms = weigh(query);
    const most = terms.reduce((sum, { idf, occurrences }) => sum + idf * occurrences, 0);
    for (const { term, occurrences, idf, share } of terms) {
      const list = postings.get(term);
      if (list === undefined) continue;
      if (list.version !== version) refreshImpacts(list);
      const byImpact = (weights.lexical * idf * occurrences) / most;
      const byPresence = weights.covered * share;
      // Reads stay inside the arrays' bounds, which the checker cannot know.
      const { slots, impacts, nameShares, length } = list;
      for (let entry = 0; entry < length; entry++) {
        const slot = slots[entry] as number;
        scores[slot] =
          (scores[slot] as number) +
          byImpact * (impacts[entry] as number) +
          byPresence +
          weights.named * (nameShares[entry] as number);
      }
    }
  }

  function coverage(query: LexicalQuery, serverOfSlot: Int32Array, serverCount: number, scratch: Scratch): Coverage {
    const tools = scratch.take(capacity);
    const servers = new Float32Array(serverCount);
    /** The last term that each server was counted for. */
    const counted = new Int32Array(serverCount).fill(-1);
    for (const [place, { term, share }] of weigh(query).entries()) {
      const { slots, length } = postings.get(term) ?? noPostings;
      for (let entry = 0; entry < length; entry++) {
        const slot = slots[entry] as number;
        tools[slot] = (tools[slot] as number) + share;
        const server = serverOfSlot[slot] as number;
        if (counted[server] === place) continue;
        counted[server] = place;
        servers[server] = (servers[server] as number) + share;
      }
      for (const server of describedByTerm.get(term) ?? []) {
        if (counted[server] !== place) servers[server] = (servers[server] as number) + share;
      }
    }
    return { tools, servers };
  }

  const isCommon = (term: string) => (postings.get(term)?.length ?? 0) > commonShare * termsBySlot.size + 20;

  /** Rare among server names is what counts here: in a catalog of Azure servers «azure» names none of them. */
  function serversNamed(query: LexicalQuery): Map<string, number> {
    const matched = new Map<string, number>();
    const ceiling = Math.log(1 + servers.size / 1.5);
    for (const term of query.terms.keys()) {
      const holders = serversByTerm.get(term);
      if (holders === undefined) continue;
      const idf = Math.log(1 + (servers.size - holders.size + 0.5) / (holders.size + 0.5)) / Math.max(ceiling, 1e-6);
      for (const name of holders) matched.set(name, Math.min(1, (matched.get(name) ?? 0) + idf));
    }
    return matched;
  }

  function explain(query: LexicalQuery, tool: SearchableTool): string[] {
    const spelled = new Map<string, string>();
    for (const text of toFieldTexts(tool)) {
      for (const { whole, parts } of toWords(text)) {
        for (const word of [whole, ...parts]) {
          const term = stem(word);
          if (query.terms.has(term) && !spelled.has(term) && !stopWords.has(word) && !isCommon(term))
            spelled.set(term, word);
        }
      }
    }
    return [...spelled]
      .sort(([a], [b]) => inverseFrequency(b) - inverseFrequency(a) || (a < b ? -1 : 1))
      .map(([, word]) => word);
  }

  return {
    get size() {
      return termsBySlot.size;
    },
    get capacity() {
      return capacity;
    },
    add,
    remove,
    score,
    describeServer,
    coverage,
    serversNamed,
    explain,
  };
}

/** Without words that every request has, unless it has no others: «can», «you» and «the» would weigh as much as a verb. */
export function toLexicalQuery(text: string): LexicalQuery {
  const spoken = toWords(text);
  const telling = spoken.filter(({ whole }) => !stopWords.has(whole));
  const terms = new Map<string, number>();
  for (const { whole, parts } of telling.length > 0 ? telling : spoken)
    for (const term of [whole, ...parts].map(stem)) terms.set(term, (terms.get(term) ?? 0) + 1);
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
