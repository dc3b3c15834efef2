/**
 * Keeps the search index in step with the catalog: embeds tools as they come, classifies them into skills beside it,
 * and moves to another embedding model in the background while the old vectors go on answering.
 */
import { createHash } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import type { Config } from '../config.ts';
import { describe } from '../errors.ts';
import type { Events } from '../events.ts';
import type { Logger } from '../log.ts';
import { type ClassificationQueue, createClassificationQueue } from '../skills/classification-queue.ts';
import { createModelClassifier } from '../skills/classifier-model.ts';
import { type Classification, classifyTool } from '../skills/classify.ts';
import type { SkillBook } from '../skills/skill-book.ts';
import { createSkillVectors } from '../skills/skill-vectors.ts';
import type { Skill } from '../skills/taxonomy.ts';
import type { Database } from '../store/database.ts';
import type { ToolRow } from '../store/schema.ts';
import { type ToolChanges, type ToolSkills, updateClassificationState, updateToolSkills } from '../store/tools.ts';
import { deleteVectorsOfOtherModels, findVectors, upsertVectors } from '../store/vectors.ts';
import { loadStaticEmbedder } from './embed.ts';
import type { Embedder } from './embedder.ts';
import { createEmbeddingsService } from './embeddings-service.ts';
import { inspectQuality, type QualityReport } from './quality.ts';
import { type SearchRequest, type SearchResult, search } from './search.ts';
import { createSearchIndex, embedTools, toEmbeddingTexts } from './search-index.ts';
import type { SearchableTool } from './tool.ts';

export interface Finder {
  search(request: SearchRequest, signal?: AbortSignal): Promise<SearchResult>;
  /** The catalog's change, in the order of changes. */
  follow(server: { name: string }, changes: ToolChanges): void;
  /** The same where another replica discovered and classifies. */
  followElsewhere(server: { name: string }, changes: ToolChanges): void;
  /** From now on we classify this server's tools: those that nobody has classified yet, to begin with. */
  takeOver(serverId: string): void;
  /** A skill was added, changed or removed: every tool is classified anew. */
  reclassify(): void;
  /** The same after another replica changed the skills: only what we classify. */
  relearn(): void;
  toolsOfSkill(id: string): number;
  /** Vectors of the built-in model, whatever search uses. */
  embed(texts: readonly string[]): Float32Array[];
  quality(): QualityReport;
  readonly backlog: { embedding: number; classification: number };
  /** Embedded, indexed and classified: nothing is under way. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export interface FinderDependencies {
  db: Database;
  catalog: Catalog;
  skillBook: SkillBook;
  events: Events;
  log: Logger;
  config: Config;
  onSearch?: (ms: number) => void;
  /** False where another replica classifies this server's tools. */
  isOurs?: (serverId: string) => boolean;
  /** The skills of some tools of these servers were stored. */
  onClassified?: (serverIds: Iterable<string>) => void;
}

const saveEveryMs = 100;
const embedAtOnce = 256;
const serviceRetryMs = 30_000;

export function createFinder(deps: FinderDependencies): Finder {
  const { db, catalog, skillBook, events, log, config, isOurs = () => true } = deps;
  const builtIn = loadStaticEmbedder();
  const index = createSearchIndex(builtIn, builtIn);
  const skillVectors = createSkillVectors(builtIn.dimensions);
  const closed = new AbortController();
  const classified = new Map<number, ToolSkills>();
  const unclassified = new Set<number>();
  let embedding = 0;
  let working: Promise<unknown> = Promise.resolve();
  let saveTimer: NodeJS.Timeout | undefined;
  let skillsAreStale = true;
  let prototypes: { id: string; vector: Float32Array }[] = [];

  rememberSkills();
  const queue = createQueue();
  // Lists need not wait for the index; a search that comes too early does.
  const filled = fill();
  filled.catch((error: unknown) => log.error({ err: error }, 'the search index could not be filled'));
  working = filled;
  for (const server of new Set(catalog.snapshot.tools.map((tool) => tool.server))) {
    index.setAvailable(server.name, isSearchable(server.lifecycle.status));
  }
  const off = [
    events.on('server.status', ({ name, status }) => index.setAvailable(name, isSearchable(status))),
    events.on('server.removed', ({ name }) =>
      forget([...index.tools()].filter((tool) => tool.server === name).map(({ id }) => id)),
    ),
  ];
  void moveToService();

  /** From the store where it has them, else embedded now: the built-in table is fast enough to wait for. */
  async function fill(): Promise<void> {
    const stored = new Map((await findVectors(db, builtIn.identity)).map((row) => [row.tool_id, row]));
    const fresh: ToolRow[] = [];
    for (const { row, server } of catalog.snapshot.tools) {
      const known = stored.get(row.id);
      const tool = toSearchable(row, server.name);
      if (known?.content_hash === contentHash(tool)) enter(tool, toFloats(known.vector));
      else fresh.push(row);
    }
    const names = new Map(catalog.snapshot.tools.map(({ row, server }) => [row.id, server.name]));
    await embedAndEnter(fresh.map((row) => toSearchable(row, names.get(row.id) ?? '')));
    classifyPending((serverId) => isOurs(serverId));
  }

  function classifyPending(concerns: (serverId: string) => boolean): void {
    const pending = catalog.snapshot.tools.filter(
      ({ row, server }) =>
        row.classification_state !== 'CLASSIFIED' &&
        row.classification_state !== 'UNCLASSIFIED' &&
        queue.stateOf(row.id) !== 'CLASSIFYING' &&
        concerns(server.id),
    );
    queue.add(pending.map(({ row }) => toClassify(row)));
  }

  function enter(tool: SearchableTool, vector: Float32Array): void {
    index.upsert(tool, vector);
    skillVectors.setTool(tool.id, tool.skillIds, vector);
    skillsAreStale = true;
  }

  async function embedAndEnter(tools: SearchableTool[]): Promise<void> {
    for (let from = 0; from < tools.length; from += embedAtOnce) {
      const batch = tools.slice(from, from + embedAtOnce);
      const vectors = await embedTools(builtIn, batch);
      for (const [place, tool] of batch.entries()) enter(tool, vectors[place] as Float32Array);
      await store(builtIn, batch, vectors);
      embedding = Math.max(0, embedding - batch.length);
      await new Promise(setImmediate);
    }
  }

  async function store(embedder: Embedder, tools: SearchableTool[], vectors: Float32Array[]): Promise<void> {
    await upsertVectors(
      db,
      tools.map((tool, place) => ({
        tool_id: tool.id,
        model: embedder.identity,
        content_hash: contentHash(tool),
        vector: toBytes(vectors[place] as Float32Array),
      })),
    );
  }

  /** Another model embeds everything in the background; search moves over when it has all of it. */
  async function moveToService(): Promise<void> {
    if (config.embeddingsUrl === undefined) return;
    while (!closed.signal.aborted) {
      try {
        const service = await createEmbeddingsService(
          { url: config.embeddingsUrl, model: config.embeddingsModel, apiKey: config.embeddingsApiKey },
          closed.signal,
        );
        await reembed(service);
        log.info({ model: service.identity, tools: index.size }, 'search uses the vectors of another model');
        return;
      } catch (error) {
        if (closed.signal.aborted) return;
        log.warn(
          { error: describe(error) },
          'the embeddings service does not answer; search goes on with the built-in model',
        );
        await new Promise((resolve) => setTimeout(resolve, serviceRetryMs).unref());
      }
    }
  }

  async function reembed(service: Embedder): Promise<void> {
    const stored = new Map((await findVectors(db, service.identity)).map((row) => [row.tool_id, row]));
    const vectors = new Map<number, Float32Array>();
    const missing: SearchableTool[] = [];
    for (const tool of index.tools()) {
      const known = stored.get(tool.id);
      if (known?.content_hash === contentHash(tool)) vectors.set(tool.id, toFloats(known.vector));
      else missing.push(tool);
    }
    embedding += missing.length;
    for (let from = 0; from < missing.length; from += embedAtOnce) {
      const batch = missing.slice(from, from + embedAtOnce);
      const fresh = await embedTools(service, batch, closed.signal);
      for (const [place, tool] of batch.entries()) vectors.set(tool.id, fresh[place] as Float32Array);
      await store(service, batch, fresh);
      embedding = Math.max(0, embedding - batch.length);
    }
    index.useEmbedder(service, vectors);
    await deleteVectorsOfOtherModels(db, service.identity);
  }

  function follow(server: { name: string }, changes: ToolChanges): void {
    forget(changes.removed.map((row) => row.id));
    const rows = [...changes.added, ...changes.changed.map(({ after }) => after)];
    embedding += rows.length;
    working = working
      .then(() => embedAndEnter(rows.map((row) => toSearchable(row, server.name))))
      .then(() => queue.add(rows.map(toClassify)))
      .catch((error: unknown) => log.error({ err: error }, 'tools could not be indexed'));
  }

  function followElsewhere(server: { name: string }, changes: ToolChanges): void {
    forget(changes.removed.map((row) => row.id));
    const rows = [...changes.added, ...changes.changed.map(({ after }) => after)];
    for (const row of changes.unchanged) takeSkills(row);
    if (rows.length === 0) return;
    embedding += rows.length;
    working = working
      .then(() => embedAndEnter(rows.map((row) => toSearchable(row, server.name))))
      .catch((error: unknown) => log.error({ err: error }, 'tools could not be indexed'));
  }

  function takeSkills({ id, skill_ids, primary_skill_id }: ToolSkills | ToolRow): void {
    const tool = index.get(id);
    if (tool === undefined) return;
    Object.assign(tool, { skillIds: skill_ids, primarySkillId: primary_skill_id });
    skillVectors.setTool(id, skill_ids, index.vectorOf(id) ?? null);
    skillsAreStale = true;
  }

  function forget(ids: number[]): void {
    for (const id of ids) {
      index.remove(id);
      skillVectors.removeTool(id);
    }
    queue.remove(ids);
    skillsAreStale = true;
  }

  function createQueue(): ClassificationQueue {
    const model =
      config.anthropicApiKey === undefined
        ? undefined
        : createModelClassifier({
            apiKey: config.anthropicApiKey,
            baseUrl: config.anthropicBaseUrl,
            model: config.model,
          });
    return createClassificationQueue({
      async classify(tools, signal) {
        if (model !== undefined) return await model(tools, skillBook.list(), signal);
        return new Map(
          tools.flatMap(({ id }): [number, Classification][] => {
            const vector = index.vectorOf(id);
            return vector === undefined ? [] : [[id, classifyTool(vector, prototypes)]];
          }),
        );
      },
      onClassified(id, { skillIds, primarySkillId, assignments }) {
        const skill_confidences = Object.fromEntries(
          assignments.map(({ skillId, confidence }) => [skillId, confidence]),
        );
        classified.set(id, { id, skill_ids: skillIds, primary_skill_id: primarySkillId, skill_confidences });
        unclassified.delete(id);
        saveSoon();
      },
      onUnclassified(id, error) {
        if (error !== null) log.debug({ tool: id, error: describe(error) }, 'a tool could not be classified yet');
        unclassified.add(id);
        saveSoon();
      },
    });
  }

  /** Many results, one write and one new snapshot. */
  function saveSoon(): void {
    saveTimer ??= setTimeout(() => {
      saveTimer = undefined;
      working = working.then(save).catch((error: unknown) => log.error({ err: error }, 'skills could not be stored'));
    }, saveEveryMs);
  }

  async function save(): Promise<void> {
    const done = [...classified.values()];
    const failed = [...unclassified];
    classified.clear();
    unclassified.clear();
    await updateToolSkills(db, done);
    await updateClassificationState(db, failed, 'UNCLASSIFIED');
    const skills = new Map(done.map((tool) => [tool.id, tool]));
    const changed = catalog.snapshot.tools
      .filter(({ row }) => skills.has(row.id) || failed.includes(row.id))
      .map(({ row }) => withSkills(row, skills.get(row.id)));
    catalog.replaceTools(changed);
    for (const tool of done) takeSkills(tool);
    skillsAreStale = true;
    deps.onClassified?.(new Set(changed.flatMap(({ source_server_id: id }) => (id === null ? [] : [id]))));
  }

  function rememberSkills(): void {
    const skills = skillBook.list();
    for (const { id } of prototypes) if (skillBook.find(id) === undefined) skillVectors.removeSkill(id);
    prototypes = skills.map((skill) => ({ id: skill.id, vector: builtIn.embedText(textOf(skill)) }));
    for (const { id, vector } of prototypes) skillVectors.setSkill(id, vector);
    skillsAreStale = true;
  }

  function refreshSkills(): void {
    if (!skillsAreStale) return;
    skillsAreStale = false;
    // Skill vectors live in the built-in model's space; another model's requests cannot be compared with them.
    const skills = index.embedder.identity === builtIn.identity ? skillBook.list() : [];
    index.setSkills(
      skills.flatMap(({ id, name }) => {
        const vector = skillVectors.vectorOf(id);
        return vector === undefined ? [] : [{ id, name, vector }];
      }),
    );
  }

  return {
    async search(request, signal) {
      await filled;
      refreshSkills();
      const found = await search(index, request, signal);
      deps.onSearch?.(found.metadata.totalTimeMs);
      return found;
    },
    follow,
    followElsewhere,
    takeOver: (serverId) => classifyPending((candidate) => candidate === serverId),
    reclassify() {
      rememberSkills();
      const { tools } = catalog.snapshot;
      queue.add(tools.filter(({ server }) => isOurs(server.id)).map(({ row }) => toClassify(row)));
      // Where another replica leads it is told; where nobody does, the next one that does finds them so.
      const others = tools.filter(({ server }) => !isOurs(server.id)).map(({ row }) => row.id);
      working = working
        .then(() => updateClassificationState(db, others, 'CLASSIFYING'))
        .catch((error: unknown) => log.error({ err: error }, 'skills could not be stored'));
    },
    relearn() {
      rememberSkills();
      const own = catalog.snapshot.tools.filter(({ server }) => isOurs(server.id));
      queue.add(own.map(({ row }) => toClassify(row)));
    },
    toolsOfSkill: (id) => skillVectors.toolCount(id),
    embed: (texts) => texts.map((text) => builtIn.embedText(text)),
    quality: () => inspectQuality(index, (text) => builtIn.embedText(text)),
    get backlog() {
      return { embedding, classification: queue.pending };
    },
    async idle() {
      await working;
      await queue.idle();
      while (saveTimer !== undefined || classified.size > 0)
        await new Promise((resolve) => setTimeout(resolve, saveEveryMs));
      await working;
    },
    async close() {
      closed.abort();
      for (const stop of off) stop();
      await queue.close();
      clearTimeout(saveTimer);
      await working;
    },
  };
}

/** Seed 003, «Behavior by State». */
const isSearchable = (status: string) => status === 'CONNECTED' || status === 'DEGRADED';

export function toSearchable(row: ToolRow, server: string): SearchableTool {
  return {
    id: row.id,
    name: row.name,
    originalName: row.original_name,
    server,
    title: row.title ?? undefined,
    description: row.description ?? '',
    inputSchema: row.input_schema,
    skillIds: row.skill_ids,
    primarySkillId: row.primary_skill_id,
    isExternal: row.is_external,
  };
}

const toClassify = ({ id, name, description }: ToolRow) => ({ id, name, description: description ?? '' });

function withSkills(row: ToolRow, skills: ToolSkills | undefined): ToolRow {
  if (skills === undefined) return { ...row, is_classified: false, classification_state: 'UNCLASSIFIED' };
  const { skill_ids, primary_skill_id, skill_confidences } = skills;
  return {
    ...row,
    skill_ids,
    primary_skill_id,
    skill_confidences,
    is_classified: true,
    classification_state: 'CLASSIFIED',
  };
}

const textOf = ({ name, description, examples }: Skill) => `${name}. ${description}. ${examples.join('. ')}`;

function contentHash(tool: SearchableTool): string {
  return createHash('sha256')
    .update(JSON.stringify(toEmbeddingTexts(tool)))
    .digest('base64url')
    .slice(0, 22);
}

function toBytes(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

function toFloats(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.slice().buffer);
}
