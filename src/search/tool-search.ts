/** Finds tools for a task: the index, the models that embed it, Qdrant beside it where that is configured. */
import type { Catalog } from '../catalog/catalog.ts';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import type { Logger } from '../log.ts';
import type { SkillStore } from '../skills/skill-store.ts';
import type { Database } from '../store/database.ts';
import { noTracer, type TraceContext, type Tracer, traced } from '../tracing.ts';
import { loadStaticEmbedder, type StaticEmbedder } from './embed.ts';
import { type InternalToolDefinition, indexInternalTools } from './internal-tools.ts';
import { createQdrant } from './qdrant.ts';
import { createQdrantMirror, type QdrantMirror } from './qdrant-mirror.ts';
import { inspectQuality, type QualityReport } from './quality.ts';
import { type RemoteScan, search } from './search.ts';
import { createSearchIndex, type SearchIndex } from './search-index.ts';
import type { SearchRequest, SearchResult } from './search-result.ts';
import { createServiceVectors, type ServiceVectors } from './service-vectors.ts';
import { createSkillIndex } from './skill-index.ts';
import { createThesaurus, type Thesaurus } from './thesaurus.ts';
import { createToolIndex } from './tool-index.ts';
import { toPoint } from './tool-row.ts';

export interface ToolSearch {
  search(request: SearchRequest, signal?: AbortSignal, trace?: TraceContext): Promise<SearchResult>;
  toolsOfSkill(id: string): number;
  /** Vectors of the built-in model, whatever search uses. */
  embed(texts: readonly string[]): Float32Array[];
  /** How rare words are, how near to one another, and which stand for others. */
  lexicon: Pick<StaticEmbedder, 'rarity' | 'embedText'> & Thesaurus;
  quality(): Promise<QualityReport>;
  /** Tools that wait for their vector. */
  readonly backlog: number;
  /** Undefined where Qdrant is not configured. */
  pingVectors: (() => Promise<void>) | undefined;
  close(): Promise<void>;
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
  tracer?: Tracer;
}

export function createToolSearch(deps: ToolSearchDependencies): ToolSearch {
  const { catalog, changes, config, tracer = noTracer } = deps;
  const builtIn = loadStaticEmbedder();
  const skills = createSkillIndex(builtIn, deps.skillStore);
  const internalIndex = indexInternalTools(deps.internalTools ?? [], builtIn);
  let service: ServiceVectors | undefined;
  const toolIndex = createToolIndex({
    ...deps,
    builtIn,
    skills,
    onTouched: (ids) => mirror?.touch(ids),
    onEntered: () => service?.wake(),
  });
  const { index, filled, ownVectors } = toolIndex;
  const mirror = config.qdrantUrl === undefined ? undefined : startMirror(config.qdrantUrl);
  const started = filled.then(startService, () => undefined);

  function startMirror(url: string): QdrantMirror {
    return createQdrantMirror({
      qdrant: createQdrant({ url }),
      log: deps.log,
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

  function startService(): void {
    const { embeddingsUrl: url, embeddingsModel: model, embeddingsApiKey: apiKey } = config;
    if (url === undefined) return;
    service = createServiceVectors({
      service: { url, model, apiKey },
      builtIn,
      db: deps.db,
      log: deps.log,
      tools: () => index.tools(),
      onComplete(embedder, vectors) {
        // biome-ignore lint/correctness/useHookAtTopLevel: not that kind of hook
        index.useEmbedder(embedder, vectors);
        mirror?.touch(vectors.keys());
        skills.invalidate();
      },
      onVector(tool, vector) {
        if (index.get(tool.id) !== tool) return;
        index.upsert(tool, vector);
        mirror?.touch([tool.id]);
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

  /** Another model's vectors tell nothing about probes that the built-in one embeds. */
  async function ownIndex(): Promise<SearchIndex> {
    if (index.embedder.identity === builtIn.identity) return index;
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
        skills.refresh(index);
        const found =
          request.includeExternal === false
            ? await search(await internalIndex, { ...request, isVisible: undefined }, signal)
            : await search(index, request, signal, remoteFor(request));
        changes.publish('search.finished', { ms: found.metadata.totalTimeMs });
        return found;
      }),
    toolsOfSkill: skills.toolCount,
    embed: (texts) => texts.map((text) => builtIn.embedText(text)),
    lexicon: { rarity: builtIn.rarity, embedText: builtIn.embedText, ...createThesaurus() },
    async quality() {
      await filled;
      return inspectQuality(await ownIndex(), (text) => builtIn.embedText(text));
    },
    get backlog() {
      return toolIndex.pending + (service?.pending ?? 0);
    },
    pingVectors: mirror === undefined ? undefined : () => mirror.ping(),
    async close() {
      await toolIndex.close();
      await started;
      await service?.close();
      await mirror?.close();
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
