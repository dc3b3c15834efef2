/** Whose a task is: outside a server's own endpoint, the id of a task begins with the server's name. */
import type { Server } from '../registry/registry.ts';
import type { Scope } from './scope.ts';

export interface TaskIds {
  /** The id as clients of the endpoint know it. */
  outside(scope: Scope, server: Server, taskId: string): string;
  /** Undefined where no server that the client may see has such a task. */
  find(scope: Scope, id: string): { server: Server; taskId: string } | undefined;
}

export function createTaskIds(listServers: () => Server[]): TaskIds {
  return {
    outside: ({ single }, server, taskId) => (single === undefined ? `${server.name}:${taskId}` : taskId),
    find(scope, id) {
      if (scope.single !== undefined) return { server: scope.single, taskId: id };
      const colon = id.indexOf(':'); // server names have none
      const server = listServers().find(({ name }) => name === id.slice(0, colon));
      return server === undefined || !scope.sees(server) ? undefined : { server, taskId: id.slice(colon + 1) };
    },
  };
}
