import type { operations } from './api-types.ts';
import { eventsIn } from './event-stream.ts';

/** Client of the public API. The session is in a cookie, so the page never has a token. */
export interface Problem {
  loc: (string | number)[];
  msg: string;
}

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly problems: Problem[];
  readonly context: Json;

  constructor(status: number, code: string, message: string, problems: Problem[] = [], context: Json = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.problems = problems;
    this.context = context;
  }
}

let onSignedOut = () => {};
/** Called if a response reports that the user is not signed in. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export async function api<Answer>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<Answer> {
  const response = await send(method, path, body, signal);
  const text = await response.text();
  // Not validated, because the page and the API have the same version.
  return (text === '' ? undefined : JSON.parse(text)) as Answer;
}

/** The same as a stream of events, told one by one until `result`; an `error` among them is thrown. */
export async function apiEvents(
  path: string,
  body: unknown,
  signal: AbortSignal,
  onEvent: (name: string, data: unknown) => void,
): Promise<void> {
  const response = await send('POST', path, body, signal, 'text/event-stream');
  for await (const { name, data } of eventsIn(response)) {
    if (name === 'error') throw toError(JSON.parse(data).status, data, path);
    onEvent(name, JSON.parse(data));
    if (name === 'result') return;
  }
  throw new ApiError(0, 'UNREACHABLE', 'The connection closed before the answer arrived.');
}

async function send(
  method: Method,
  path: string,
  body: unknown,
  signal: AbortSignal | undefined,
  accept = 'application/json',
): Promise<Response> {
  const response = await fetch(path, {
    method,
    signal,
    headers: { accept, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'UNREACHABLE', 'The aggregator does not respond. Check that it is running.');
  });
  if (!response.ok) throw toError(response.status, await response.text(), path);
  return response;
}

interface ErrorBody {
  detail: string | Problem[];
  error_code: string;
  /** `errors`: the error of each server, if several were queried. */
  context?: Json & { errors?: string[] };
}

function toError(status: number, text: string, path: string): ApiError {
  if (!text.startsWith('{')) return new ApiError(status, 'UNKNOWN', `The aggregator returned HTTP ${status}.`);
  const { detail, error_code: code, context } = JSON.parse(text) as ErrorBody;
  if (status === 401 && path !== '/api/v1/session') onSignedOut();
  if (typeof detail === 'string')
    return new ApiError(status, code, [detail, ...(context?.errors ?? [])].join('\n'), [], context);
  const lines = detail.map(({ loc, msg }) => (loc.length > 1 ? `${loc.slice(1).join('.')}: ${msg}` : msg));
  return new ApiError(status, code, lines.join('\n'), detail);
}

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

export const serversPath = '/api/v1/aggregator/servers';
export const serverPath = (idOrName: string) => `${serversPath}/${encodeURIComponent(idOrName)}`;

export type Json = Record<string, unknown>;

/** What an operation of the API answers; 200, 201 or 202 as it says. */
export type AnswerOf<Id extends keyof operations> = operations[Id]['responses'] extends infer Answers
  ? {
      [Code in keyof Answers]: Answers[Code] extends { content: { 'application/json': infer Body } } ? Body : never;
    }[keyof Answers]
  : never;
/** What an operation of the API takes. */
export type BodyOf<Id extends keyof operations> = operations[Id] extends {
  requestBody?: { content: { 'application/json': infer Body } };
}
  ? Body
  : never;

export type Session = AnswerOf<'getSession'>;
export type Health = AnswerOf<'getAggregatorHealth'>;
export type WaysIn = AnswerOf<'getSessionWays'>;
export type ServerList = AnswerOf<'getAggregatorServers'>;
export type Server = ServerList['servers'][number];
export type ServerDetail = AnswerOf<'getAggregatorServersId'>;
export type Status = Server['status'];
export type Tool = AnswerOf<'getAggregatorServersIdTools'>['tools'][number];
export type Activity = AnswerOf<'getAggregatorActivity'>;
export type Slice = Activity['servers'][number]['slices'][number];
export type RecentCall = Activity['recent_calls'][number];
export type Payload = AnswerOf<'getAggregatorActivityCallsCallId'>;
export type PayloadPart = Payload['arguments'];
export type Profile = AnswerOf<'getProfiles'>['profiles'][number];
