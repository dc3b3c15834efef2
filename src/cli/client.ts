/** Client of the REST API for commands. */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Problem } from '../errors.ts';
import { parseJson } from '../exact-json.ts';
import { proofHeader } from '../security/identity.ts';
import { CommandFailure, exitOfStatus } from './exit-code.ts';
import type { Target } from './target.ts';

export interface Client {
  readonly url: string;
  get<Answer>(path: string): Promise<Answer>;
  /** Returns an answer that is not JSON unchanged. */
  getText(path: string): Promise<string>;
  post<Answer>(path: string, body?: unknown): Promise<Answer>;
  put<Answer>(path: string, body: unknown): Promise<Answer>;
  patch<Answer>(path: string, body: unknown): Promise<Answer>;
  delete(path: string): Promise<void>;
}

export const api = '/api/v1/aggregator';
export const serverPath = (name: string) => `${api}/servers/${encodeURIComponent(name)}`;

export function createClient(target: Target): Client {
  const { url } = target;

  async function receive(method: string, path: string, body?: unknown): Promise<string> {
    const token = await target.token();
    const content = body === undefined ? '' : JSON.stringify(body);
    const proof = body === undefined ? undefined : await target.prove?.({ path, body: content });
    const headers = {
      accept: 'application/json',
      ...(proof === undefined ? {} : { [proofHeader]: proof }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const sent = exchange(`${url}${path}`, { method, headers, body: content });
    const response = await sent.catch((cause: unknown) => {
      throw unreachable(url, cause);
    });
    if (response.status >= 400) throw toFailure(response.status, parseAnswer(response.text, url), target);
    return response.text;
  }

  async function send<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = parseAnswer(await receive(method, path, body), url);
    // Not validated, because the command line and the API have the same version.
    return answer as Answer;
  }

  return {
    url,
    get: (path) => send('GET', path),
    getText: (path) => receive('GET', path),
    post: (path, body) => send('POST', path, body),
    put: (path, body) => send('PUT', path, body),
    patch: (path, body) => send('PATCH', path, body),
    delete: (path) => send('DELETE', path),
  };
}

/** Not `fetch`, which times out after five minutes; tool calls may take longer. */
function exchange(
  url: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body: string },
): Promise<{ status: number; text: string }> {
  const request = url.startsWith('https:') ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const sending = request(url, { method, headers, agent: false }, (response) => {
      text(response).then((received) => resolve({ status: response.statusCode ?? 0, text: received }), reject);
    });
    sending.on('error', reject);
    sending.end(body);
  });
}

function parseAnswer(text: string, url: string): unknown {
  if (text === '') return undefined;
  try {
    return parseJson(text);
  } catch (cause) {
    throw new CommandFailure('unreachable', `${url} is not an mcp-aggregator: its answer is not JSON`, { cause });
  }
}

function unreachable(url: string, cause: unknown): CommandFailure {
  const { code } = cause as NodeJS.ErrnoException;
  return new CommandFailure(
    'unreachable',
    `No aggregator answers at ${url}${code === undefined ? '' : ` (${code})`}. Start it with: mcp-aggregator start`,
    { cause },
  );
}

interface ErrorAnswer {
  detail?: string | Problem[];
  error_code?: string;
  server?: { error_message?: string | null };
}

function toFailure(status: number, answer: unknown, { source, dataDir }: Target): CommandFailure {
  const { detail, server } = (answer ?? {}) as ErrorAnswer;
  const lines = Array.isArray(detail)
    ? detail.map(({ loc, msg }) => (loc.length > 1 ? `${loc.slice(1).join('.')}: ${msg}` : msg))
    : [detail ?? `The aggregator returned HTTP ${status}`];
  if (status === 401) lines.push(adviceFor(source, dataDir));
  if (server?.error_message) lines.push(`Last error of the server: ${server.error_message}`);
  return new CommandFailure(exitOfStatus(status), lines.join('\n'), { answer });
}

function adviceFor(source: Target['source'], dataDir: string): string {
  if (source === undefined) {
    return `No token found in ${dataDir}. Set --token or MCP_AGGREGATOR_TOKEN, or sign in: mcp-aggregator sign-in`;
  }
  if (source === 'sign-in') return 'Sign in again: mcp-aggregator sign-in';
  return 'Check --token, MCP_AGGREGATOR_TOKEN and MCP_AGGREGATOR_ADMIN_TOKEN, or set the data directory with --data-dir.';
}
