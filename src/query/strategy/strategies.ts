/** The query strategy of every server, derived again when its tools change. */
import type { Catalog, CatalogItem, CatalogTool } from '../../catalog/catalog.ts';
import type { Changes } from '../../changes.ts';
import { isObject, type JsonObject } from '../../json-rpc.ts';
import { createTimeSlice, inSlices } from '../../time-slice.ts';
import { type Strategy, type StrategyTool, strategySteps, toResource, toTemplate } from './strategy.ts';

interface Strategies {
  of(serverId: string): Promise<Strategy>;
  close(): void;
}

interface Known {
  tools: readonly CatalogTool['row'][];
  items: readonly JsonObject[];
  readers: readonly string[];
  strategy: Promise<Strategy>;
}

interface StrategiesDependencies {
  catalog: Pick<Catalog, 'snapshot'>;
  changes: Changes;
  /** The option `query_readers` of a server. */
  readersOf: (serverId: string) => readonly string[];
}

export function createStrategies({ catalog, changes, readersOf }: StrategiesDependencies): Strategies {
  const known = new Map<string, Known>();

  function of(serverId: string): Promise<Strategy> {
    const { toolsByServer, items } = catalog.snapshot;
    const tools = (toolsByServer.get(serverId) ?? []).map(({ row }) => row);
    const own = ({ server }: CatalogItem) => server.id === serverId;
    const resources = items.resource.filter(own).map(({ definition }) => definition);
    const templates = items.resource_template.filter(own).map(({ definition }) => definition);
    const readers = readersOf(serverId);
    const listed = [...resources, ...templates];
    const before = known.get(serverId);
    const isKnown = before !== undefined && areSame(before.tools, tools) && areSame(before.items, listed);
    if (isKnown && areSame(before.readers, readers)) return before.strategy;
    const work = strategySteps({
      tools: tools.map(toStrategyTool),
      resources: resources.map(toResource),
      templates: templates.map(toTemplate),
      readers,
    });
    const strategy = inSlices(work, createTimeSlice());
    known.set(serverId, { tools, items: listed, readers, strategy });
    return strategy;
  }

  const off = [
    changes.subscribe('server.discovered', ({ server_id: id }) => void of(id)),
    changes.subscribe('server.removed', ({ server_id: id }) => void known.delete(id)),
  ];
  return {
    of,
    close() {
      for (const end of off) end();
    },
  };
}

/** Definitions are replaced, never changed. */
function areSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, at) => value === b[at]);
}

export function toStrategyTool(row: CatalogTool['row']): StrategyTool {
  const { annotations } = row.definition;
  return {
    name: row.original_name,
    title: row.title ?? undefined,
    description: row.description ?? undefined,
    annotations: isObject(annotations) ? annotations : undefined,
    inputSchema: row.input_schema,
  };
}

/** Without the tools that a caller may not use. */
export function visibleStrategy(strategy: Strategy, isVisible: (tool: string) => boolean): Strategy {
  return {
    ...strategy,
    operations: strategy.operations.filter(({ tool }) => isVisible(tool)),
    leftOut: strategy.leftOut.filter(({ tool }) => isVisible(tool)),
  };
}
