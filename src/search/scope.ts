/** Which tools a request may find. */
import type { SearchIndex } from './search-index.ts';
import type { SearchRequest } from './search-result.ts';

interface SearchScope {
  /** Ascending. */
  slots: number[];
  external: number;
  servers: number;
}

/** Of requests without a filter, which are most; listing all tools again for each of them takes long. */
const wholeScopes = new WeakMap<SearchIndex, { revision: number; scope: SearchScope }>();

export function selectScope(index: SearchIndex, request: SearchRequest): SearchScope {
  const { serverFilter, includeExternal = true, isVisible } = request;
  if (serverFilter != null || !includeExternal || isVisible !== undefined) return listScope(index, request);
  const known = wholeScopes.get(index);
  if (known?.revision === index.revision) return known.scope;
  const scope = listScope(index, request);
  wholeScopes.set(index, { revision: index.revision, scope });
  return scope;
}

function listScope(
  index: SearchIndex,
  { serverFilter, includeExternal = true, isVisible }: SearchRequest,
): SearchScope {
  const filter = serverFilter == null ? null : new Set(serverFilter);
  const open = index.serverNames.map(
    (name) => name !== undefined && index.isAvailable(name) && (filter === null || filter.has(name)),
  );
  const { serverOfSlot } = index;
  const slots: number[] = [];
  let external = 0;
  for (let slot = 0; slot < serverOfSlot.length; slot++) {
    const server = serverOfSlot[slot] as number;
    if (server < 0 || open[server] !== true) continue;
    const tool = index.toolAt(slot);
    if (tool === undefined || (tool.isExternal && !includeExternal) || isVisible?.(tool) === false) continue;
    if (tool.isExternal) external++;
    slots.push(slot);
  }
  return { slots, external, servers: open.filter((isOpen) => isOpen).length };
}
