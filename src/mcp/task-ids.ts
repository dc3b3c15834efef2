/**
 * Whose a task is. Everybody's calls reach a server as ours, so it cannot tell whose task it is asked for, and its ids
 * may be easy to guess: the id that a client gets says the server and bears a mark that only its principal's ids have.
 */
import type { Server } from '../registry/registry.ts';
import type { Vault } from '../security/credentials.ts';
import type { Peer } from './peer.ts';

export interface TaskIds {
  /** The id as the client knows it. */
  outside(peer: Peer, server: Server, taskId: string): string;
  /** Undefined where the client began no such task on a server that it may see. */
  find(peer: Peer, id: string): { server: Server; taskId: string } | undefined;
}

export function createTaskIds(vault: Vault, findServer: (name: string) => Server | undefined): TaskIds {
  const whose = ({ principal }: Peer, server: Server, taskId: string) =>
    JSON.stringify(['task', principal.id, server.id, taskId]);

  return {
    outside: (peer, server, taskId) => `${server.name}:${vault.mark(whose(peer, server, taskId))}:${taskId}`,
    find(peer, id) {
      const [name = '', mark = '', ...rest] = id.split(':'); // neither names nor marks have a colon
      const server = findServer(name);
      const taskId = rest.join(':');
      if (server === undefined || !peer.scope.sees(server)) return undefined;
      return vault.isMarked(whose(peer, server, taskId), mark) ? { server, taskId } : undefined;
    },
  };
}
