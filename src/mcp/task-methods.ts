/** Tasks, which belong to a server: clients know them by an id that says which. */
import { isObject, type JsonObject, rpcCodes } from '../json-rpc.ts';
import { toObject } from '../raw-result.ts';
import type { Server } from '../registry/registry.ts';
import type { Router } from '../routing/router.ts';
import { missingCapability, ProtocolError } from './adapt-result.ts';
import { nameServerInResult } from './client-questions.ts';
import type { McpCall, Peer } from './peer.ts';
import type { TaskIds } from './task-ids.ts';

interface TaskMethods {
  /** `tasks/get`, `tasks/update`, `tasks/cancel`. */
  relay(call: McpCall): Promise<JsonObject>;
  /** The result of a call that goes on as a task, as its client knows the task. */
  toOutside(caller: Peer, server: Server, result: JsonObject): JsonObject;
}

export const tasksExtension = 'io.modelcontextprotocol/tasks';

export function createTaskMethods({ router, taskIds }: { router: Router; taskIds: TaskIds }): TaskMethods {
  return {
    async relay(call) {
      const { caller, params } = call;
      requireTasks(caller);
      const task = taskIds.find(caller, String(params.taskId));
      if (task === undefined)
        throw new ProtocolError(rpcCodes.invalidParams, 'Unknown task', { data: { taskId: params.taskId } });
      const { server, taskId } = task;
      const known = (said: JsonObject) => {
        const named = nameServerInResult(said, { ...call, server });
        return said.taskId === taskId ? { ...named, taskId: params.taskId } : named;
      };
      const result = await router.relay({
        ...call,
        server,
        params: { ...params, taskId },
        notify: (method, notice) => call.notify(method, known(notice)),
      });
      return known(toObject(result));
    },

    toOutside(caller, server, result) {
      if (typeof result.taskId !== 'string') return result;
      return { ...result, taskId: taskIds.outside(caller, server, result.taskId) };
    },
  };
}

function requireTasks({ client }: Peer): void {
  const { extensions } = client.capabilities;
  if (isObject(extensions) && extensions[tasksExtension] !== undefined) return;
  throw missingCapability(`The client must declare the extension ${tasksExtension}`, {
    extensions: { [tasksExtension]: {} },
  });
}
