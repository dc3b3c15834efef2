/** The lists of a server as another replica stored them: read again, compared with ours, and what changed is published. */
import { isDeepStrictEqual } from 'node:util';
import { findItemsOfServer } from '../store/server-items.ts';
import { findServerTools } from '../store/tools.ts';
import type { ChangeReview } from './change-review.ts';
import type { Discovery, DiscoveryResources } from './discovery.ts';
import { offeredChanges } from './offered-tool.ts';
import type { Items, ServerLists } from './server-lists.ts';
import { compareTools, hasChanges, namesOf } from './tool-diff.ts';

interface StoredListsDependencies extends Pick<DiscoveryResources, 'db' | 'registry' | 'changes'> {
  lists: ServerLists;
  discovery: Discovery;
  changeReview: ChangeReview;
  onToolsChanged: () => void;
}

type ReloadLists = (serverId: string) => Promise<void>;

export function createStoredLists(deps: StoredListsDependencies): ReloadLists {
  const { db, registry, changes, lists, discovery, changeReview } = deps;

  return async function reload(serverId) {
    // Our own discovery knows better than what was stored before it.
    for (let running = discovery.running(serverId); running !== undefined; running = discovery.running(serverId))
      await Promise.allSettled([running]);
    const tools = lists.tools(serverId);
    const before = lists.items(serverId);
    const [rows, stored] = await Promise.all([findServerTools(db, serverId), findItemsOfServer(db, serverId)]);
    await changeReview.reload(serverId);
    const server = registry.find(serverId);
    if (server === undefined || discovery.running(serverId) !== undefined) return;
    // What was read while something changed here may be older than that.
    if (lists.tools(serverId) !== tools || lists.items(serverId) !== before) return await reload(serverId);
    const toolChanges = compareTools(tools ?? [], rows);
    registry.recordToolCount(serverId, rows.length);
    lists.setStored(serverId, rows, stored);
    const changed = { tools: hasChanges(toolChanges), ...changedItems(before, lists.items(serverId)) };
    changes.publish('tools.reloaded', { server, toolChanges: offeredChanges(toolChanges, server.tool_overrides) });
    if (changed.tools) {
      deps.onToolsChanged();
      const summary = namesOf(toolChanges);
      changes.publish('server.discovered', { server_id: serverId, name: server.name, tools: rows.length, ...summary });
    }
    if (changed.tools || changed.prompts || changed.resources)
      changes.publish('catalog.changed', { ...changed, server_id: serverId });
  };
}

/** Clients hear of templates and skills as of resources. */
export function changedItems(before: Items, after: Items): { prompts: boolean; resources: boolean } {
  return {
    prompts: !isDeepStrictEqual(before.prompt, after.prompt),
    resources: !isDeepStrictEqual(
      [before.resource, before.resource_template, before.skill],
      [after.resource, after.resource_template, after.skill],
    ),
  };
}
