/** What a failed call is answered with, and what is recorded of it. */
import { AppError, describe, RpcError } from '../errors.ts';
import type { Server } from '../registry/registry.ts';
import type { Principal } from '../security/auth.ts';
import { maskError, maskStrings } from '../security/mask.ts';
import { userOf } from '../security/policy.ts';
import { HttpProblem } from '../upstream/http-messages.ts';
import type { Link } from '../upstream/link.ts';
import { AccessDenied, ConnectionLost, MessageTooLarge } from '../upstream/session.ts';
import { brief } from '../upstream/unavailable.ts';
import type { RoutedCall } from './call.ts';
import type { Deadline } from './deadline.ts';

export type CallOutcome =
  | 'ok'
  | 'tool_error'
  | 'rpc_error'
  | 'unavailable'
  | 'overloaded'
  | 'held'
  | 'timeout'
  | 'cancelled'
  | 'failed';

/** EC-003: what was in progress when the connection was lost. */
export function lostInMidCall(
  { server, mask }: Link,
  { method, params, caller }: RoutedCall,
  startedAt: number,
  cause: ConnectionLost,
): AppError {
  const started_at = new Date(Date.now() - (performance.now() - startedAt)).toISOString();
  const problem =
    server.lifecycle.status === 'DISCONNECTING' || server.lifecycle.status === 'DISCONNECTED'
      ? `${server.name} was disconnected during the call`
      : `${server.name} was lost during the call: ${mask(cause.message, userOf(caller.principal))}`;
  return new AppError('SERVER_UNAVAILABLE', `Server unavailable: ${problem}`, {
    cause,
    body: { server: brief(server) },
    context: {
      in_progress: { method, name: params.name ?? params.uri ?? null, started_at },
      executed: 'unknown',
    },
  });
}

/** The tool was found, and its server removed before the call reached it: to repeat the call would not help. */
export function routeLost({ name }: Server): AppError {
  return new AppError('ROUTING_FAILED', `Failed to route the call: the server ${name} was removed`, {
    context: { server: name },
  });
}

/** Our pages where a principal logs in to a server, and where it enters its keys. */
export interface OwnPages {
  login: (server: Server, principal: Principal) => string;
  keys: (server: Server, principal: Principal) => string;
}

/** The caller can log in or enter a key, or send a person who may: the answer says where. */
export function withPageLink(
  error: unknown,
  server: Server,
  principal: Principal,
  pages: OwnPages | undefined,
): unknown {
  if (!(error instanceof AppError) || pages === undefined) return error;
  if (error.code === 'KEY_REQUIRED') return withKeyLink(error, server, pages.keys(server, principal));
  if (error.code !== 'LOGIN_REQUIRED') return error;
  const login_url = pages.login(server, principal);
  const what = error.context?.login === 'expired' ? 'Login expired' : 'Login required';
  return new AppError('LOGIN_REQUIRED', `${what}: ${server.name}: open ${login_url} to log in`, {
    cause: error,
    body: { server: brief(server) },
    context: { ...error.context, login_url },
  });
}

function withKeyLink(error: AppError, server: Server, key_url: string): AppError {
  const names = [error.context?.keys].flat().join(', ');
  const problem =
    `Key required: ${server.name}: open ${key_url} to enter your ${names}, ` +
    `or run: mcp-aggregator key set ${server.name}`;
  return new AppError('KEY_REQUIRED', problem, {
    cause: error,
    body: { server: brief(server) },
    context: { ...error.context, key_url },
  });
}

export function translateError(error: unknown, link: Link, { timedOut, call: { signal, caller } }: Deadline): unknown {
  const { server } = link;
  const mask = (text: string): string => link.mask(text, userOf(caller.principal));
  if (timedOut || isTimeout(signal.reason)) {
    return new AppError('EXECUTION_TIMEOUT', `Timed out waiting for ${server.name}`, {
      cause: error,
      body: { server: brief(server) },
    });
  }
  // An admin, or the caller on another page: the reason says who.
  if (signal.reason instanceof AppError) return signal.reason;
  if (signal.aborted) return new AppError('CALL_CANCELLED', 'The call was cancelled', { cause: error });
  if (error instanceof ConnectionLost && !(error instanceof MessageTooLarge)) {
    return new AppError('SERVER_UNAVAILABLE', `Server unavailable: ${server.name}: ${mask(error.message)}`, {
      cause: error,
      body: { server: brief(server) },
    });
  }
  if (error instanceof HttpProblem || error instanceof AccessDenied || error instanceof MessageTooLarge) {
    return new AppError('EXECUTION_FAILED', `${server.name}: ${mask(describe(error))}`, { cause: error });
  }
  if (error instanceof RpcError) {
    const shorten = (text: string): string => maskError(text, mask);
    return new RpcError(error.code, shorten(error.message), maskStrings(error.data, shorten));
  }
  return error;
}

/** A caller that waits for so long and no longer (a query) says so by its reason. */
const isTimeout = (reason: unknown): boolean => reason instanceof DOMException && reason.name === 'TimeoutError';

export function codeOf(error: unknown): string | null {
  return error instanceof AppError || error instanceof RpcError ? String(error.code) : null;
}

export function outcomeOf(error: unknown): CallOutcome {
  if (error instanceof RpcError) return 'rpc_error';
  if (!(error instanceof AppError)) return 'failed';
  switch (error.code) {
    case 'EXECUTION_TIMEOUT':
      return 'timeout';
    case 'CALL_CANCELLED':
      return 'cancelled';
    case 'SERVER_OVERLOADED':
      return 'overloaded';
    case 'TOOL_CHANGE_PENDING':
      return 'held';
    case 'SERVER_UNAVAILABLE':
    case 'SERVER_CONNECTION_FAILED':
    case 'LOGIN_REQUIRED':
    case 'KEY_REQUIRED':
      return 'unavailable';
    default:
      return 'failed';
  }
}
