/** The error of a call to a server that cannot be reached. */
import { AppError } from '../errors.ts';
import type { Status } from '../registry/lifecycle.ts';
import type { Server } from '../registry/registry.ts';

export function unavailable(server: Server): AppError {
  return new AppError('SERVER_UNAVAILABLE', `Server unavailable: ${server.name}`, {
    body: { server: brief(server) },
    context: server.error_message === null ? undefined : { reason: server.error_message },
  });
}

/** A server as errors name it. */
export function brief(server: Server): { id: string; name: string; status: Status } {
  return { id: server.id, name: server.name, status: server.lifecycle.status };
}
