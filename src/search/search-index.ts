import { toUnit } from '../similarity/cosine.ts';
import { stopWords } from '../similarity/stop-words.ts';
import { createVectorIndex, type VectorIndex } from '../similarity/vector-index.ts';
import type { StaticEmbedder } from './embed.ts';
import type { Embedder } from './embedder.ts';
import { createLexicalIndex, type LexicalIndex, toTerms } from './lexical.ts';
import { type ToolTraits, toTraits } from './refine.ts';
import { createScratch, type Scratch } from './scratch.ts';
import type { TokenMatcher } from './token-matcher.ts';
import { type SearchableTool, toDescription, toParameters } from './tool.ts';
import { toWords } from './words.ts';

interface SkillVector {
  id: string;
  name: string;
  vector: Float32Array;
}

/**
 * Everything search reads, in memory. Tools of a server that went away stay in it with their vectors and are skipped:
 * when the server comes back, nothing is embedded again.
 */
export interface SearchIndex {
  readonly size: number;
  readonly lexical: LexicalIndex;
  readonly vectors: VectorIndex;
  readonly embedder: Embedder;
  readonly skills: SkillVector[];
  /** Server number by slot, -1 where the slot is empty. */
  readonly serverOfSlot: Int32Array;
  /** By server number: its name; undefined where the number is free. */
  readonly serverNames: (string | undefined)[];
  upsert(tool: SearchableTool, vector: Float32Array | null): void;
  remove(id: number): void;
  get(id: number): SearchableTool | undefined;
  vectorOf(id: number): Float32Array | undefined;
  tools(): Iterable<SearchableTool>;
  toolAt(slot: number): SearchableTool | undefined;
  slotOf(id: number): number | undefined;
  setAvailable(server: string, available: boolean): void;
  isAvailable(server: string): boolean;
  setSkills(skills: SkillVector[]): void;
  /** Swaps in another model's vectors at once; until then search answers from the old ones. */
  useEmbedder(embedder: Embedder, vectors: Map<number, Float32Array>): void;
  /** What a server says of itself: its description and instructions. It counts where it says more than the name. */
  describeServer(name: string, text: string): void;
  readonly serverNumbers: ReadonlyMap<string, number>;
  readonly scratch: Scratch;
  /** Changes with every tool that comes or goes and every server whose availability changes. */
  readonly revision: number;
  /** Similarity of a text to every server's name or to what it says of itself, the greater one, by server number. */
  serverSimilarity(text: string): Float32Array;
  /** What is compared word by word, by slot. */
  traitsAt(slot: number): ToolTraits | undefined;
  readonly tokens: Pick<StaticEmbedder, 'tokensOf'> & { matcher: TokenMatcher };
  /** True for words that begin the names of tools: create, list, send … */
  isAction(word: string): boolean;
}

/** `builtIn` compares requests with servers and with single words, whatever embeds the tools. */
export function createSearchIndex(embedder: Embedder, builtIn: StaticEmbedder): SearchIndex {
  const lexical = createLexicalIndex();
  const slots = new Map<number, number>();
  const free: number[] = [];
  const toolBySlot: (SearchableTool | undefined)[] = [];
  const traits: (ToolTraits | undefined)[] = [];
  const servers = new Map<string, { number: number; tools: number }>();
  const serverNumbers = new Map<string, number>();
  const serverVectors = createVectorIndex(builtIn.dimensions);
  const descriptions = new Map<string, string>();
  const descriptionVectors = createVectorIndex(builtIn.dimensions);
  const matcher = builtIn.createTokenMatcher();
  const serverNames: (string | undefined)[] = [];
  const freeServers: number[] = [];
  const unavailable = new Set<string>();
  const actions = new Map<string, number>();
  let serverOfSlot: Int32Array = new Int32Array(1024).fill(-1);
  let current = { embedder, vectors: createVectorIndex(embedder.dimensions) };
  let skills: SkillVector[] = [];
  let serverCount = 0;
  let revision = 0;

  function upsert(tool: SearchableTool, vector: Float32Array | null): void {
    remove(tool.id);
    revision++;
    const slot = free.pop() ?? toolBySlot.length;
    toolBySlot[slot] = tool;
    traits[slot] = toTraits(tool, builtIn.tokensOf);
    slots.set(tool.id, slot);
    if (slot >= serverOfSlot.length) {
      const wider = new Int32Array(serverOfSlot.length * 2).fill(-1);
      wider.set(serverOfSlot);
      serverOfSlot = wider;
    }
    serverOfSlot[slot] = enterServer(tool.server);
    lexical.add(slot, tool);
    if (vector !== null) current.vectors.set(slot, vector);
    const action = toAction(tool);
    if (action !== undefined) actions.set(action, (actions.get(action) ?? 0) + 1);
  }

  function remove(id: number): void {
    const slot = slots.get(id);
    const tool = slot === undefined ? undefined : toolBySlot[slot];
    if (slot === undefined || tool === undefined) return;
    revision++;
    slots.delete(id);
    toolBySlot[slot] = undefined;
    traits[slot] = undefined;
    serverOfSlot[slot] = -1;
    leaveServer(tool.server);
    lexical.remove(slot);
    current.vectors.remove(slot);
    free.push(slot);
    const action = toAction(tool);
    const uses = action === undefined ? 0 : (actions.get(action) ?? 0);
    if (action !== undefined && uses > 1) actions.set(action, uses - 1);
    else if (action !== undefined) actions.delete(action);
  }

  function enterServer(name: string): number {
    let server = servers.get(name);
    if (server === undefined) {
      server = { number: freeServers.pop() ?? serverCount++, tools: 0 };
      servers.set(name, server);
      serverNumbers.set(name, server.number);
      serverNames[server.number] = name;
      serverVectors.set(server.number, builtIn.embedText(name));
      describe(name, server.number);
    }
    server.tools++;
    return server.number;
  }

  function leaveServer(name: string): void {
    const server = servers.get(name);
    if (server === undefined) return;
    server.tools--;
    if (server.tools > 0) return;
    servers.delete(name);
    serverNumbers.delete(name);
    serverNames[server.number] = undefined;
    serverVectors.remove(server.number);
    descriptionVectors.remove(server.number);
    lexical.describeServer(server.number, '');
    freeServers.push(server.number);
  }

  /** Kept by name, because a server whose tools change may be without any for a moment. */
  function describeServer(name: string, text: string): void {
    if ((descriptions.get(name) ?? '') === text) return;
    if (text === '') descriptions.delete(name);
    else descriptions.set(name, text);
    const number = serverNumbers.get(name);
    if (number !== undefined) describe(name, number);
  }

  function describe(name: string, number: number): void {
    const text = (descriptions.get(name) ?? '').slice(0, maxServerText);
    const isInformative = saysMoreThan(name, text);
    if (isInformative) descriptionVectors.set(number, builtIn.embedText(`${name}. ${text}`));
    else descriptionVectors.remove(number);
    lexical.describeServer(number, isInformative ? `${name} ${text}` : name);
  }

  function serverSimilarity(text: string): Float32Array {
    const request = builtIn.embedText(text);
    const similarity = serverVectors.scan(request);
    const described = descriptionVectors.scan(request);
    for (let number = 0; number < serverCount; number++)
      similarity[number] = Math.max(similarity[number] as number, described[number] ?? 0);
    return similarity;
  }

  return {
    get size() {
      return slots.size;
    },
    get vectors() {
      return current.vectors;
    },
    get embedder() {
      return current.embedder;
    },
    get skills() {
      return skills;
    },
    get serverOfSlot() {
      return serverOfSlot.subarray(0, toolBySlot.length);
    },
    lexical,
    serverNames,
    upsert,
    remove,
    serverNumbers,
    scratch: createScratch(),
    describeServer,
    serverSimilarity,
    traitsAt: (slot) => traits[slot],
    tokens: { tokensOf: builtIn.tokensOf, matcher },
    get: (id) => toolBySlot[slots.get(id) ?? -1],
    vectorOf: (id) => {
      const slot = slots.get(id);
      return slot !== undefined && current.vectors.has(slot) ? current.vectors.get(slot) : undefined;
    },
    toolAt: (slot) => toolBySlot[slot],
    slotOf: (id) => slots.get(id),
    tools: () => toolBySlot.filter((tool) => tool !== undefined),
    get revision() {
      return revision;
    },
    setAvailable: (server, available) => {
      revision++;
      if (available) unavailable.delete(server);
      else unavailable.add(server);
    },
    isAvailable: (server) => !unavailable.has(server),
    setSkills: (next) => {
      skills = next;
    },
    useEmbedder: (next, vectors) => {
      const index = createVectorIndex(next.dimensions);
      for (const [id, vector] of vectors) {
        const slot = slots.get(id);
        if (slot !== undefined) index.set(slot, vector);
      }
      current = { embedder: next, vectors: index };
    },
    isAction: (word) => (actions.get(word) ?? 0) >= 2,
  };
}

const maxServerText = 600;
const minServerWords = 5;

/** A description that repeats the name, or is hardly longer, would only count the name twice. */
function saysMoreThan(name: string, text: string): boolean {
  const known = new Set(toTerms(name));
  return new Set(toTerms(text).filter((term) => !known.has(term) && !stopWords.has(term))).size >= minServerWords;
}

function toAction(tool: SearchableTool): string | undefined {
  const [first] = toWords(tool.originalName);
  return first?.parts[0] ?? first?.whole;
}

const maxEmbedded = 1_200;
const maxEmbeddedParameters = 16;

/**
 * The texts that stand for a tool in the vector space: what it is in one sentence, and everything it says of itself.
 * Long descriptions drown their first sentence, which is the one people paraphrase. Change this and every stored vector
 * is of another kind.
 */
export function toEmbeddingTexts(tool: SearchableTool): { lead: string; full: string } {
  const description = toDescription(tool).slice(0, maxEmbedded);
  const [sentence = ''] = description.split(/(?<=[.!?])\s|\n/, 1);
  const parameters = toParameters(tool.inputSchema).slice(0, maxEmbeddedParameters);
  const name = `${tool.originalName} ${tool.title ?? ''}`;
  return {
    lead: `${name}. ${sentence}`,
    full: `${name}. ${description} ${parameters.map((parameter) => parameter.name).join(' ')}`,
  };
}

export async function embedTools(
  embedder: Embedder,
  tools: SearchableTool[],
  signal?: AbortSignal,
): Promise<Float32Array[]> {
  const texts = tools.map(toEmbeddingTexts);
  const leads = await embedder.embed(
    texts.map(({ lead }) => lead),
    signal,
  );
  const fulls = await embedder.embed(
    texts.map(({ full }) => full),
    signal,
  );
  return leads.map((lead, position) => toUnit(lead.map((value, d) => value + (fulls[position]?.[d] ?? 0))));
}
