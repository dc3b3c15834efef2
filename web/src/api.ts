import { eventsIn } from './event-stream.ts';

/** The public API, as the page speaks it: the session is in a cookie, so nothing here knows a token. */
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
/** Told when an answer says that nobody is signed in. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export async function api<Answer>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<Answer> {
  const response = await send(method, path, body, signal);
  const text = await response.text();
  // The API describes its answers in /openapi.json; the page is as new as the API that it came with.
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
  throw new ApiError(0, 'UNREACHABLE', 'The connection ended before the answer came.');
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
    throw new ApiError(0, 'UNREACHABLE', 'The aggregator does not answer. Is it still running?');
  });
  if (!response.ok) throw toError(response.status, await response.text(), path);
  return response;
}

interface ErrorBody {
  detail: string | Problem[];
  error_code: string;
  /** `errors`: what each server said, where several were asked. */
  context?: Json & { errors?: string[] };
}

function toError(status: number, text: string, path: string): ApiError {
  if (!text.startsWith('{')) return new ApiError(status, 'UNKNOWN', `The aggregator answered with HTTP ${status}.`);
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

export type Status = 'DISCONNECTED' | 'CONNECTING' | 'CONNECTED' | 'DEGRADED' | 'ERROR' | 'DISCONNECTING';
export type Json = Record<string, unknown>;

export interface Session {
  name: string;
  role: 'admin' | 'caller' | 'viewer';
  servers: string[] | null;
  profile: string | null;
  version: string;
}

export interface Health {
  safe_mode?: string;
}

export interface WaysIn {
  identity_provider: { issuer: string; dashboard: string | null } | null;
}

export interface Tool {
  id: string;
  name: string;
  original_name: string;
  title: string | null;
  description: string;
  skill_ids: string[];
  primary_skill_id: string | null;
  input_schema: Json;
  wire_name: string;
  discovered_at: string;
}

export interface Server {
  id: string;
  name: string;
  description: string | null;
  transport_type: 'STDIO' | 'SSE' | 'HTTP';
  status: Status;
  health_check_url: string | null;
  tool_count: number;
  error_message: string | null;
  login: 'required' | 'expired' | null;
  last_health_check: string | null;
  registered_at: string;
  connected_at: string | null;
  tools?: Tool[];
}

export interface ServerDetail extends Server {
  connection_config: Json;
  options: Json;
  auto_connect: boolean;
  origin: string;
  protocol_version: string | null;
  era: 'modern' | 'legacy' | null;
  server_info: Json | null;
  instructions: string | null;
  stderr_tail: string | null;
  consecutive_failures: number;
  active_calls: number;
  queued_calls: number;
  client_sessions: number;
  updated_at: string;
}

export interface ServerList {
  servers: Server[];
  total: number;
}

export interface Slice {
  at: string;
  calls: number;
  failed: number;
  mean_ms: number | null;
  max_ms: number | null;
  checks_failed: number;
  status: Status | null;
}

export interface RecentCall {
  call_id: string;
  server: string;
  tool: string;
  principal: string;
  outcome: string;
  duration_ms: number;
  at: string;
}

export interface Activity {
  slice_seconds: number;
  servers: {
    id: string;
    name: string;
    consecutive_failures: number;
    active_calls: number;
    queued_calls: number;
    slices: Slice[];
  }[];
  recent_calls: RecentCall[];
  shows_payloads: boolean;
  memory_bytes: number;
}

export interface PayloadPart {
  json: string;
  bytes: number;
  cut: boolean;
}

export interface Payload {
  arguments: PayloadPart;
  result: PayloadPart | null;
  error: PayloadPart | null;
}

export interface Profile {
  name: string;
  endpoint: string;
  description?: string;
  servers?: string[];
  tools?: { name: string; rename?: string; description?: string }[];
  exposure?: 'auto' | 'all' | 'search';
}
