/** Keeps the search index in step with the catalog: embeds tools as they come and takes over the skills that they are given. */
import type { Catalog } from '../catalog/catalog.ts';
import type { Changes } from '../changes.ts';
import type { Logger } from '../log.ts';
import type { Database } from '../store/database.ts';
import type { ToolRow } from '../store/schema.ts';
import type { ToolChanges } from '../store/tools.ts';
import { findVectors, upsertVectors } from '../store/vectors.ts';
import { nextTurn } from '../time-slice.ts';
import type { StaticEmbedder } from './embed.ts';
import { createSearchIndex, embedTools, type SearchIndex } from './search-index.ts';
import type { SkillIndex } from './skill-index.ts';
import type { SearchableTool } from './tool.ts';
import { hasSkills, isSearchable, toSearchable } from './tool-row.ts';
import { contentHash, toFloats, toVectorRows } from './vector-row.ts';

interface ToolIndex {
  readonly index: SearchIndex;
  /** Everything that the catalog had at the start is in the index. */
  readonly filled: Promise<void>;
  /** Tools on their way into the index. */
  readonly pending: number;
  /** In the built-in model's space, whatever search uses: there skills and tools compare. */
  ownVectors(ids: readonly number[]): Promise<Map<number, Float32Array>>;
  close(): Promise<void>;
}

interface ToolIndexDependencies {
  db: Database;
  catalog: Pick<Catalog, 'snapshot'>;
  changes: Changes;
  log: Logger;
  builtIn: StaticEmbedder;
  skills: SkillIndex;
  /** These tools have a new vector, other skills, or are gone. */
  onTouched: (ids: readonly number[]) => void;
  /** Tools came or changed. */
  onEntered: () => void;
}

const embedAtOnce = 256;
/** What is embedded without a pause for other work. */
const embedInTurn = 16;

export function createToolIndex(deps: ToolIndexDependencies): ToolIndex {
  const { db, catalog, changes, log, builtIn, skills, onTouched } = deps;
  const index = createSearchIndex(builtIn, builtIn);
  /** One that is removed meanwhile must not arrive. */
  const expected = new Map<number, SearchableTool>();
  // Lists need not wait for the index; a search that comes too early does.
  const filled = fill();
  filled.catch((error: unknown) => log.error({ err: error }, 'could not fill the search index'));
  let working: Promise<unknown> = filled;
  for (const server of new Set(catalog.snapshot.tools.map((tool) => tool.server))) {
    index.setAvailable(server.name, isSearchable(server.lifecycle.status));
  }
  const offs = [
    changes.subscribe('tools.discovered', ({ server, toolChanges }) => follow(server, toolChanges)),
    changes.subscribe('tools.reloaded', ({ server, toolChanges }) => {
      takeSkills(toolChanges.unchanged);
      follow(server, toolChanges);
    }),
    changes.subscribe('tools.classified', ({ tools }) => takeSkills(tools)),
    changes.subscribe('skills.changed', () => skills.load()),
    changes.subscribe('server.status', ({ name, status }) => index.setAvailable(name, isSearchable(status))),
    changes.subscribe('server.renamed', ({ name, previous }) => index.setAvailable(name, index.isAvailable(previous))),
    changes.subscribe('server.updated', ({ name }) => describe(name)),
    // Its instructions came with the connection.
    changes.subscribe('server.discovered', ({ name }) => describe(name)),
    changes.subscribe('server.removed', ({ name }) => {
      forget([...index.tools()].filter((tool) => tool.server === name).map(({ id }) => id));
      index.describeServer(name, '');
    }),
  ];

  const usesBuiltIn = () => index.embedder.identity === builtIn.identity;

  function queue(work: () => unknown, problem: string): void {
    working = working.then(work).catch((error: unknown) => log.error({ err: error }, problem));
  }

  /** From the store where it has them, else embedded now: the built-in table is fast enough to wait for. */
  async function fill(): Promise<void> {
    const stored = new Map((await findVectors(db, builtIn.identity)).map((row) => [row.tool_id, row]));
    const fresh: SearchableTool[] = [];
    const tools = catalog.snapshot.tools.map(({ row, server }) => toSearchable(row, server.name));
    for (const tool of tools) expected.set(tool.id, tool);
    for (const name of new Set(tools.map(({ server }) => server))) describe(name);
    for (const tool of tools) {
      const known = stored.get(tool.id);
      if (known?.content_hash === contentHash(tool)) enter(tool, toFloats(known.vector));
      else fresh.push(tool);
    }
    await embedAndEnter(fresh);
  }

  function describe(name: string): void {
    const server = catalog.snapshot.serversByName.get(name);
    index.describeServer(name, [server?.description, server?.instructions].filter((text) => text).join('\n'));
  }

  function enter(tool: SearchableTool, vector: Float32Array): void {
    if (expected.get(tool.id) !== tool) return;
    expected.delete(tool.id);
    index.upsert(tool, usesBuiltIn() ? vector : null);
    onTouched([tool.id]);
    // As the index keeps it, which is not to the last digit: a restart must not move the skills.
    skills.setTool(tool, index.vectorOf(tool.id) ?? vector);
  }

  async function embedAndEnter(tools: SearchableTool[]): Promise<void> {
    for (let from = 0; from < tools.length; from += embedAtOnce) {
      const batch = tools.slice(from, from + embedAtOnce);
      const vectors: Float32Array[] = [];
      for (let at = 0; at < batch.length; at += embedInTurn) vectors.push(...(await embedInOneTurn(batch, at)));
      await upsertVectors(db, toVectorRows(builtIn, batch, vectors)).catch((error: unknown) =>
        log.warn({ err: error }, 'could not store vectors; they are computed again at the next start'),
      );
    }
    deps.onEntered();
  }

  async function embedInOneTurn(batch: SearchableTool[], at: number): Promise<Float32Array[]> {
    const tools = batch.slice(at, at + embedInTurn);
    const vectors = await embedTools(builtIn, tools);
    for (const [place, tool] of tools.entries()) enter(tool, vectors[place] as Float32Array);
    await nextTurn();
    return vectors;
  }

  function follow(server: { name: string }, { added, changed, removed }: ToolChanges): void {
    describe(server.name);
    forget(removed.map((row) => row.id));
    const rows = [...added, ...changed.map(({ after }) => after)];
    const tools = rows.map((row) => toSearchable(row, server.name));
    for (const tool of tools) expected.set(tool.id, tool);
    queue(() => embedAndEnter(tools), 'could not index tools');
  }

  function takeSkills(rows: readonly ToolRow[]): void {
    const taken = rows.flatMap(({ id, skill_ids: skillIds, primary_skill_id: primarySkillId }) => {
      // A tool that is on its way brings them along.
      const awaited = expected.get(id);
      if (awaited !== undefined) Object.assign(awaited, { skillIds, primarySkillId });
      const tool = index.get(id);
      if (tool === undefined || hasSkills(tool, skillIds, primarySkillId)) return [];
      return [Object.assign(tool, { skillIds, primarySkillId })];
    });
    const ids = taken.map(({ id }) => id);
    onTouched(ids);
    if (usesBuiltIn()) setSkillVectors(taken, indexedVectors(taken));
    else queue(async () => setSkillVectors(taken, await ownVectors(ids)), 'skills could not be indexed');
  }

  function setSkillVectors(tools: readonly SearchableTool[], vectors: ReadonlyMap<number, Float32Array>): void {
    for (const tool of tools) if (index.get(tool.id) === tool) skills.setTool(tool, vectors.get(tool.id) ?? null);
  }

  function forget(ids: number[]): void {
    for (const id of ids) {
      expected.delete(id);
      index.remove(id);
      skills.removeTool(id);
    }
    onTouched(ids);
  }

  const indexedVectors = (tools: readonly SearchableTool[]) =>
    new Map(tools.flatMap(({ id }) => toEntry(id, index.vectorOf(id))));

  async function ownVectors(ids: readonly number[]): Promise<Map<number, Float32Array>> {
    const tools = ids.flatMap((id) => index.get(id) ?? []);
    if (usesBuiltIn()) return indexedVectors(tools);
    const vectors = await embedTools(builtIn, tools);
    return new Map(tools.flatMap(({ id }, place) => toEntry(id, vectors[place])));
  }

  return {
    index,
    filled,
    get pending() {
      return expected.size;
    },
    ownVectors,
    async close() {
      for (const off of offs) off();
      // A failure is logged already.
      await Promise.allSettled([working]);
    },
  };
}

function toEntry(id: number, vector: Float32Array | undefined): [number, Float32Array][] {
  return vector === undefined ? [] : [[id, vector]];
}
