/** Keeps the search index in step with the catalog: embeds tools as they come and classifies them into skills beside it. */
import type { Catalog } from '../catalog/catalog.ts';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { describe } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Model } from '../model.ts';
import { type ClassificationQueue, createClassificationQueue } from '../skills/classification-queue.ts';
import { createModelClassifier, type ToolToClassify } from '../skills/classifier-model.ts';
import { classifyTool } from '../skills/classify.ts';
import { rememberClassifications } from '../skills/remembered-classifications.ts';
import type { SkillStore } from '../skills/skill-store.ts';
import { createSkillVectors } from '../skills/skill-vectors.ts';
import type { Skill } from '../skills/taxonomy.ts';
import type { Database } from '../store/database.ts';
import type { ToolRow } from '../store/schema.ts';
import {
  clearToolSkills,
  type ToolChanges,
  type ToolSkills,
  updateClassificationState,
  updateToolSkills,
} from '../store/tools.ts';
import { findVectors, upsertVectors } from '../store/vectors.ts';
import { noTracer, type TraceContext, type Tracer, traced } from '../tracing.ts';
import { loadStaticEmbedder, type StaticEmbedder } from './embed.ts';
import { createQdrant, type ToolPoint } from './qdrant.ts';
import { createQdrantMirror, type QdrantMirror } from './qdrant-mirror.ts';
import { inspectQuality, type QualityReport } from './quality.ts';
import { type RemoteScan, type SearchRequest, type SearchResult, search } from './search.ts';
import { createSearchIndex, embedTools, type SearchIndex } from './search-index.ts';
import { createServiceVectors, type ServiceVectors } from './service-vectors.ts';
import { createThesaurus, type Thesaurus } from './thesaurus.ts';
import type { SearchableTool } from './tool.ts';
import { contentHash, toFloats, toVectorRows } from './vector-row.ts';

export interface ToolSearch {
  search(request: SearchRequest, signal?: AbortSignal, trace?: TraceContext): Promise<SearchResult>;
  toolsOfSkill(id: string): number;
  /** Vectors of the built-in model, whatever search uses. */
  embed(texts: readonly string[]): Float32Array[];
  /** How rare words are, how near to one another, and which stand for others. */
  lexicon: Pick<StaticEmbedder, 'rarity' | 'embedText'> & Thesaurus;
  quality(): Promise<QualityReport>;
  readonly backlog: { embedding: number; classification: number };
  /** Undefined where Qdrant is not configured. */
  pingVectors: (() => Promise<void>) | undefined;
  /** Embedded, indexed and classified: nothing is under way. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** A tool of our own, as `tools/list` shows it. */
interface InternalToolDefinition {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: unknown;
}

interface ToolSearchDependencies {
  db: Database;
  catalog: Catalog;
  skillStore: SkillStore;
  changes: Changes;
  log: Logger;
  config: Config;
  /** Our own tools: what a search without external tools finds. */
  internalTools?: readonly InternalToolDefinition[];
  /** Classifies tools; without it the embedded classifier does. */
  model?: Model;
  tracer?: Tracer;
  /** False where another replica classifies this server's tools. */
  isOurs?: (serverId: string) => boolean;
}

type Skills = Omit<ToolSkills, 'id'>;

const saveEveryMs = 100;
const saveAgainMs = 1_000;
const embedAtOnce = 256;

export function createToolSearch(deps: ToolSearchDependencies): ToolSearch {
  const { db, catalog, skillStore, changes, log, config, tracer = noTracer, isOurs = () => true } = deps;
  const builtIn = loadStaticEmbedder();
  const index = createSearchIndex(builtIn, builtIn);
  const skillVectors = createSkillVectors(builtIn.dimensions);
  /** The skills that tools were given, until they are stored; null where could not classify a tool yet. */
  const unsaved = new Map<number, Skills | null>();
  /** Tools on their way into the index; one that is removed meanwhile must not arrive. */
  const expected = new Map<number, SearchableTool>();
  let toQueue = 0;
  let working: Promise<unknown> = Promise.resolve();
  let saveTimer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let skillsAreStale = true;
  let prototypes: { id: string; vector: Float32Array }[] = [];

  rememberSkills();
  const queue = createQueue();
  const mirror = config.qdrantUrl === undefined ? undefined : startMirror(config.qdrantUrl);
  // Lists need not wait for the index; a search that comes too early does.
  const filled = fill();
  filled.catch((error: unknown) => log.error({ err: error }, 'could not fill the search index'));
  working = filled;
  for (const server of new Set(catalog.snapshot.tools.map((tool) => tool.server))) {
    index.setAvailable(server.name, isSearchable(server.lifecycle.status));
  }
  const off = [
    changes.subscribe('tools.discovered', ({ server, toolChanges }) => follow(server, toolChanges)),
    changes.subscribe('tools.reloaded', ({ server, toolChanges }) => followReplica(server, toolChanges)),
    changes.subscribe('skills.changed', reclassify),
    // Those that no replica has classified yet.
    changes.subscribe('lease.gained', ({ server_id }) => classifyPending((candidate) => candidate === server_id)),
    changes.subscribe('server.status', ({ name, status }) => index.setAvailable(name, isSearchable(status))),
    changes.subscribe('server.removed', ({ name }) =>
      forget([...index.tools()].filter((tool) => tool.server === name).map(({ id }) => id)),
    ),
  ];
  const internalIndex = indexInternalTools(deps.internalTools ?? [], builtIn);
  let service: ServiceVectors | undefined;
  const started = filled.then(startService, () => undefined);

  /** From the store where it has them, else embedded now: the built-in table is fast enough to wait for. */
  async function fill(): Promise<void> {
    const stored = new Map((await findVectors(db, builtIn.identity)).map((row) => [row.tool_id, row]));
    const fresh: SearchableTool[] = [];
    const tools = catalog.snapshot.tools.map(({ row, server }) => toSearchable(row, server.name));
    for (const tool of tools) expected.set(tool.id, tool);
    for (const tool of tools) {
      const known = stored.get(tool.id);
      if (known?.content_hash === contentHash(tool)) enter(tool, toFloats(known.vector));
      else fresh.push(tool);
    }
    await embedAndEnter(fresh);
    // EC-009: what could not be classified before the last stop is tried again.
    classifyPending((serverId) => isOurs(serverId));
  }

  function classifyPending(concerns: (serverId: string) => boolean): void {
    const pending = catalog.snapshot.tools.filter(
      ({ row, server }) =>
        row.classification_state !== 'CLASSIFIED' && queue.stateOf(row.id) !== 'CLASSIFYING' && concerns(server.id),
    );
    queue.add(pending.map(({ row }) => toClassify(row)));
  }

  function enter(tool: SearchableTool, vector: Float32Array): void {
    if (expected.get(tool.id) !== tool) return;
    expected.delete(tool.id);
    index.upsert(tool, usesBuiltIn() ? vector : null);
    mirror?.touch([tool.id]);
    // As the index keeps it, which is not to the last digit: a restart must not move the skills.
    skillVectors.setTool(tool.id, tool.skillIds, index.vectorOf(tool.id) ?? vector);
    skillsAreStale = true;
  }

  async function embedAndEnter(tools: SearchableTool[]): Promise<void> {
    for (let from = 0; from < tools.length; from += embedAtOnce) {
      const batch = tools.slice(from, from + embedAtOnce);
      const vectors = await embedTools(builtIn, batch);
      for (const [place, tool] of batch.entries()) enter(tool, vectors[place] as Float32Array);
      await upsertVectors(db, toVectorRows(builtIn, batch, vectors)).catch((error: unknown) =>
        log.warn({ err: error }, 'could not store vectors; they are computed again at the next start'),
      );
      await new Promise(setImmediate);
    }
    service?.wake();
  }

  function startService(): void {
    const { embeddingsUrl: url, embeddingsModel: model, embeddingsApiKey: apiKey } = config;
    if (url === undefined) return;
    service = createServiceVectors({
      service: { url, model, apiKey },
      builtIn,
      db,
      log,
      tools: () => index.tools(),
      onComplete(embedder, vectors) {
        // biome-ignore lint/correctness/useHookAtTopLevel: not that kind of hook
        index.useEmbedder(embedder, vectors);
        mirror?.touch(vectors.keys());
        skillsAreStale = true;
      },
      onVector(tool, vector) {
        if (index.get(tool.id) !== tool) return;
        index.upsert(tool, vector);
        mirror?.touch([tool.id]);
      },
    });
  }

  const usesBuiltIn = () => index.embedder.identity === builtIn.identity;

  /** In the built-in model's space, whatever search uses: there skills and tools compare. */
  async function ownVectors(ids: readonly number[]): Promise<Map<number, Float32Array>> {
    const tools = ids.flatMap((id) => index.get(id) ?? []);
    if (usesBuiltIn()) return new Map(tools.flatMap(({ id }) => toEntry(id, index.vectorOf(id))));
    const vectors = await embedTools(builtIn, tools);
    return new Map(tools.flatMap(({ id }, place) => toEntry(id, vectors[place])));
  }

  function follow(server: { name: string }, changes: ToolChanges): void {
    forget(changes.removed.map((row) => row.id));
    const rows = [...changes.added, ...changes.changed.map(({ after }) => after)];
    const tools = rows.map((row) => toSearchable(row, server.name));
    for (const tool of tools) expected.set(tool.id, tool);
    toQueue += rows.length;
    working = working
      .then(() => embedAndEnter(tools))
      .then(() => queue.add(rows.map(toClassify)))
      .catch((error: unknown) => log.error({ err: error }, 'could not index tools'))
      .finally(() => {
        toQueue -= rows.length;
      });
  }

  /** Where another replica discovered and classifies; `unchanged` may have other skills. */
  function followReplica(server: { name: string }, changes: ToolChanges): void {
    forget(changes.removed.map((row) => row.id));
    const rows = [...changes.added, ...changes.changed.map(({ after }) => after)];
    for (const row of changes.unchanged) takeSkills(row);
    const tools = rows.map((row) => toSearchable(row, server.name));
    for (const tool of tools) expected.set(tool.id, tool);
    working = working
      .then(() => embedAndEnter(tools))
      .catch((error: unknown) => log.error({ err: error }, 'could not index tools'));
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
      expected.delete(id);
      unsaved.delete(id);
      index.remove(id);
      skillVectors.removeTool(id);
    }
    mirror?.touch(ids);
    queue.remove(ids);
    skillsAreStale = true;
  }

  function startMirror(url: string): QdrantMirror {
    return createQdrantMirror({
      qdrant: createQdrant({ url }),
      log,
      dimensions: () => index.embedder.dimensions,
      pointOf(id) {
        const tool = index.get(id);
        const vector = index.vectorOf(id);
        if (tool === undefined || vector === undefined) return undefined;
        const server = catalog.snapshot.toolsByCanonicalName.get(tool.name)?.server;
        return toPoint(tool, vector, server?.id ?? null, index.embedder.identity);
      },
    });
  }

  /** Qdrant looks only where this request may: its answer is short, and places in it must not be wasted. */
  function remoteFor({ serverFilter }: SearchRequest): RemoteScan | undefined {
    if (mirror === undefined) return undefined;
    const names = [...new Set([...index.tools()].map(({ server }) => server))].filter(
      (name) => index.isAvailable(name) && (serverFilter == null || serverFilter.includes(name)),
    );
    return mirror.scan({ serverNames: names, embeddingModel: index.embedder.identity });
  }

  function createQueue(): ClassificationQueue {
    const model = deps.model && rememberClassifications(db, createModelClassifier(deps.model));
    return createClassificationQueue({
      async classify(tools, signal) {
        if (model !== undefined) return await model(tools, skillStore.list(), signal);
        const vectors = await ownVectors(tools.map(({ id }) => id));
        return new Map([...vectors].map(([id, vector]) => [id, classifyTool(vector, prototypes)]));
      },
      onClassified(id, { skillIds, primarySkillId, assignments }) {
        const skill_confidences = Object.fromEntries(
          assignments.map(({ skillId, confidence }) => [skillId, confidence]),
        );
        unsaved.set(id, { skill_ids: skillIds, primary_skill_id: primarySkillId, skill_confidences });
        saveSoon();
      },
      onUnclassified(id, error) {
        if (error !== null) log.debug({ tool: id, error: describe(error) }, 'could not classify a tool yet');
        unsaved.set(id, error === null ? noSkills : null);
        saveSoon();
      },
    });
  }

  /** Many results, one write and one new snapshot. */
  function saveSoon(afterMs = saveEveryMs): void {
    if (isClosed) return;
    saveTimer ??= setTimeout(() => {
      saveTimer = undefined;
      working = working.then(save).catch((error: unknown) => {
        log.error({ err: error }, 'could not store skills; retrying automatically');
        saveSoon(saveAgainMs);
      });
    }, afterMs);
  }

  async function save(): Promise<void> {
    const outcomes = new Map(unsaved);
    const { fitting, unfit, notYet } = sortOutcomes(outcomes);
    await updateToolSkills(db, fitting);
    await clearToolSkills(db, unfit);
    await updateClassificationState(db, notYet, 'UNCLASSIFIED');
    const changed = catalog.snapshot.tools.flatMap(({ row }): ToolRow[] => {
      const skills = outcomes.get(row.id);
      if (skills === undefined) return [];
      return [{ ...row, ...skills, ...(skills === null || skills === noSkills ? asUnclassified : asClassified) }];
    });
    changes.publish('tools.classified', { tools: changed });
    const vectors = await ownVectors(fitting.map(({ id }) => id));
    for (const [id, skills] of outcomes) {
      if (unsaved.get(id) === skills) unsaved.delete(id);
      const tool = index.get(id);
      if (tool === undefined || skills === null) continue;
      Object.assign(tool, { skillIds: skills.skill_ids, primarySkillId: skills.primary_skill_id });
      skillVectors.setTool(id, skills.skill_ids, vectors.get(id) ?? null);
    }
    mirror?.touch([...fitting.map(({ id }) => id), ...unfit]);
    skillsAreStale = true;
    const serverIds = new Set(changed.flatMap(({ source_server_id: id }) => (id === null ? [] : [id])));
    for (const server_id of serverIds) changes.publish('tools.stored', { server_id });
  }

  function rememberSkills(): void {
    const skills = skillStore.list();
    for (const { id } of prototypes) if (skillStore.find(id) === undefined) skillVectors.removeSkill(id);
    prototypes = skills.map((skill) => ({ id: skill.id, vector: builtIn.embedText(textOf(skill)) }));
    for (const { id, vector } of prototypes) skillVectors.setSkill(id, vector);
    skillsAreStale = true;
  }

  function reclassify({ reloaded }: { reloaded: boolean }): void {
    rememberSkills();
    const { tools } = catalog.snapshot;
    queue.add(tools.filter(({ server }) => isOurs(server.id)).map(({ row }) => toClassify(row)));
    if (reloaded) return;
    // A replica that leads a server classifies its tools itself; of the others, the next one that leads finds them so.
    const others = tools.filter(({ server }) => !isOurs(server.id)).map(({ row }) => row.id);
    working = working
      .then(() => updateClassificationState(db, others, 'CLASSIFYING'))
      .catch((error: unknown) => log.error({ err: error }, 'could not store skills'));
  }

  function refreshSkills(): void {
    if (!skillsAreStale) return;
    skillsAreStale = false;
    // Skill vectors live in the built-in model's space; another model's requests cannot be compared with them.
    const skills = usesBuiltIn() ? skillStore.list() : [];
    index.setSkills(
      skills.flatMap(({ id, name }) => {
        const vector = skillVectors.vectorOf(id);
        return vector === undefined ? [] : [{ id, name, vector }];
      }),
    );
  }

  /** Another model's vectors tell nothing about probes that the built-in one embeds. */
  async function ownIndex(): Promise<SearchIndex> {
    const own = createSearchIndex(builtIn, builtIn);
    const tools = [...index.tools()];
    const vectors = await ownVectors(tools.map(({ id }) => id));
    for (const tool of tools) own.upsert(tool, vectors.get(tool.id) ?? null);
    return own;
  }

  return {
    search: (request, signal, trace) =>
      traced(tracer, { name: 'search', parent: trace, attributes: toAttributes }, async () => {
        await filled;
        refreshSkills();
        const found =
          request.includeExternal === false
            ? await search(await internalIndex, { ...request, isVisible: undefined }, signal)
            : await search(index, request, signal, remoteFor(request));
        changes.publish('search.finished', { ms: found.metadata.totalTimeMs });
        return found;
      }),
    toolsOfSkill: (id) => skillVectors.toolCount(id),
    embed: (texts) => texts.map((text) => builtIn.embedText(text)),
    lexicon: { rarity: builtIn.rarity, embedText: builtIn.embedText, ...createThesaurus() },
    async quality() {
      await filled;
      return inspectQuality(usesBuiltIn() ? index : await ownIndex(), (text) => builtIn.embedText(text));
    },
    get backlog() {
      // Those that could not be classified yet still wait in the queue.
      const toSave = [...unsaved.values()].filter((skills) => skills !== null);
      return {
        embedding: expected.size + (service?.pending ?? 0),
        classification: toQueue + queue.pending + toSave.length,
      };
    },
    pingVectors: mirror === undefined ? undefined : () => mirror.ping(),
    async idle() {
      await working;
      await queue.idle();
      while (saveTimer !== undefined) await new Promise((resolve) => setTimeout(resolve, saveEveryMs));
      await working;
    },
    async close() {
      isClosed = true;
      for (const stop of off) stop();
      await started;
      await service?.close();
      await mirror?.close();
      await queue.close();
      clearTimeout(saveTimer);
      await working;
    },
  };
}

function toAttributes({ tools, metadata }: SearchResult) {
  return {
    'mcp_aggregator.search.strategy': metadata.strategyUsed,
    'mcp_aggregator.search.results': tools.length,
    'mcp_aggregator.search.tools_searched': metadata.toolsSearched,
    'mcp_aggregator.search.servers_searched': metadata.serversSearched,
    'mcp_aggregator.search.parts': metadata.parts.length,
  };
}

/** ST-002 */
const isSearchable = (status: string) => status === 'CONNECTED' || status === 'DEGRADED';

function toSearchable(row: ToolRow, server: string): SearchableTool {
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

function toPoint(tool: SearchableTool, vector: Float32Array, serverId: string | null, model: string): ToolPoint {
  return {
    id: tool.id,
    vector,
    payload: {
      type: 'tool',
      db_id: tool.id,
      name: tool.name,
      description: tool.description,
      source_server_id: serverId,
      source_server_name: tool.server,
      original_name: tool.originalName,
      is_external: tool.isExternal,
      is_classified: tool.skillIds.length > 0,
      skill_ids: tool.skillIds,
      primary_skill_id: tool.primarySkillId,
      embedding_model: model,
    },
  };
}

/** Where the tool describes itself its server's name adds little, and without it the same tool elsewhere is the same. */
function toClassify({ id, name, original_name, description }: ToolRow): ToolToClassify {
  return { id, name: description ? original_name : name, description: description ?? '' };
}

function sortOutcomes(outcomes: ReadonlyMap<number, Skills | null>) {
  const fitting: ToolSkills[] = [];
  const unfit: number[] = [];
  const notYet: number[] = [];
  for (const [id, skills] of outcomes) {
    if (skills === null) notYet.push(id);
    else if (skills === noSkills) unfit.push(id);
    else fitting.push({ id, ...skills });
  }
  return { fitting, unfit, notYet };
}

const noSkills: Skills = { skill_ids: [], primary_skill_id: null, skill_confidences: {} };
const asClassified = { is_classified: true, classification_state: 'CLASSIFIED' } as const;
const asUnclassified = { is_classified: false, classification_state: 'UNCLASSIFIED' } as const;

function toEntry(id: number, vector: Float32Array | undefined): [number, Float32Array][] {
  return vector === undefined ? [] : [[id, vector]];
}

const textOf = ({ name, description, examples }: Skill) => `${name}. ${description}. ${examples.join('. ')}`;

/** They have no row in the database; negative ids keep them apart from those that have one. */
async function indexInternalTools(
  definitions: readonly InternalToolDefinition[],
  embedder: StaticEmbedder,
): Promise<SearchIndex> {
  const tools = definitions.map(({ name, title, description = '', inputSchema }, place): SearchableTool => {
    const common = { server: '', skillIds: [], primarySkillId: null, isExternal: false };
    return { ...common, id: -1 - place, name, originalName: name, title, description, inputSchema };
  });
  const index = createSearchIndex(embedder, embedder);
  const vectors = await embedTools(embedder, tools);
  for (const [place, tool] of tools.entries()) index.upsert(tool, vectors[place] ?? null);
  return index;
}
