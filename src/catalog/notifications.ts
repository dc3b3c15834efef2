/** What notifications of servers mean to the rest: lists to read again, resources and tasks that clients follow. */
import type { Changes, Topics } from '../changes.ts';
import type { Kind } from './discover.ts';

/** Returns the function that ends it. */
export function interpretNotifications(changes: Changes): () => void {
  return changes.subscribe('server.notified', (notification) => interpret(changes, notification));
}

const listsBehind = new Map<string, Kind[]>([
  ['notifications/tools/list_changed', ['tool']],
  ['notifications/prompts/list_changed', ['prompt']],
  ['notifications/resources/list_changed', ['resource', 'resource_template', 'skill']],
]);

function interpret(changes: Changes, notification: Topics['server.notified']): void {
  const { server_id, name, method, params, principal_id, owner_key } = notification;
  const kinds = listsBehind.get(method);
  if (kinds !== undefined && owner_key !== undefined)
    changes.publish('own_lists.changed', { server_id, owner_key, kinds });
  else if (kinds !== undefined) changes.publish('server.lists_changed', { server_id, kinds });
  if (method === 'notifications/resources/updated' && typeof params.uri === 'string') {
    changes.publish('resource.updated', { server_id, name, uri: params.uri, principal_id });
  }
  if (method.startsWith('notifications/tasks')) changes.publish('task.changed', { server_id, method, params });
}
