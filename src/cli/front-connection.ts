/**
 * The endpoint that a client on stdin is connected to. When it is lost, it is looked for again, and its session is
 * replaced without the client noticing.
 */
import { interruptibleDelay } from '../interruptible-delay.ts';
import { listChanges, type RpcMessage, type RpcRequest } from '../json-rpc.ts';
import { headersOf, isModern, readMessages, sessionHeaders } from './front-messages.ts';
import { beginSession, type FrontSession, recordWish } from './front-session.ts';

export interface FrontEndpoint {
  url: string;
  token(): Promise<string | undefined>;
}

interface FrontConnection {
  readonly hasSession: boolean;
  /** Once more if the endpoint had moved, or its session had expired. */
  send(message: RpcMessage, signal: AbortSignal): Promise<Response>;
  post(message: RpcMessage, signal: AbortSignal): Promise<Response>;
  /** Goes on with the stream of a request that was cut. */
  resume(lastEventId: string, signal: AbortSignal): Promise<Response>;
  /** A request of the client succeeded. */
  recordAnswer(request: RpcRequest, answer: RpcMessage, response: Response): void;
  /** Receives what belongs to no request: changed lists, updated resources. */
  listen(): void;
  /** Ends the session; one that cannot be reached any more expires on its own. */
  end(timeoutMs: number): Promise<void>;
}

interface FrontConnectionOptions {
  /** Finds the endpoint; called again when it is no longer reachable. */
  reach: () => Promise<FrontEndpoint>;
  /** Ties the messages of this client together. */
  client: string;
  write: (message: RpcMessage) => void;
  closed: AbortSignal;
}

const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' } as const;
export const retryMs = 1_000;

export function createFrontConnection({ reach, client, write, closed }: FrontConnectionOptions): FrontConnection {
  let endpoint: Promise<FrontEndpoint> | undefined;
  let session: FrontSession | undefined;
  let replaced = new AbortController();
  let recovering: Promise<void> | undefined;

  /** One that failed is looked for again by the next message. */
  function reached(): Promise<FrontEndpoint> {
    endpoint ??= reach().catch((error: unknown) => {
      endpoint = undefined;
      throw error;
    });
    return endpoint;
  }

  async function post(message: RpcMessage, signal: AbortSignal): Promise<Response> {
    const { url, token } = await reached();
    const headers = { ...headersOf(message, { client, session }), ...authorization(await token()) };
    return await fetch(url, { method: 'POST', headers, body: JSON.stringify(message), signal });
  }

  async function send(message: RpcMessage, signal: AbortSignal): Promise<Response> {
    const response = await post(message, signal).catch(async (error: unknown) => {
      if (signal.aborted || !neverSent(error)) throw error;
      // The aggregator may have run in the process of another client, which has exited.
      await recover({ hasMoved: true });
      return await post(message, signal);
    });
    if (response.status !== 404 || session?.id === undefined || isModern(message)) return response;
    // The session expired while the client was idle.
    await response.body?.cancel();
    await recover({ hasMoved: false });
    return await post(message, signal);
  }

  /** Runs once, even if several requests fail at the same time. */
  function recover({ hasMoved }: { hasMoved: boolean }): Promise<void> {
    if (recovering === undefined && hasMoved) endpoint = undefined;
    recovering ??= replaceSession().finally(() => {
      recovering = undefined;
    });
    return recovering;
  }

  async function replaceSession(): Promise<void> {
    if (session === undefined) return;
    const { initialize } = session;
    const response = await post(initialize, closed);
    await readMessages(response, (answer) => begin(initialize, answer, response));
    for (const message of [initialized, ...session.wishes.values()]) {
      const done = await post(message, closed);
      await done.body?.cancel();
    }
    void listen(session);
    // Notifications were lost in the meantime, so report all lists as changed.
    for (const method of listChanges) write({ jsonrpc: '2.0', method });
  }

  function begin(initialize: RpcRequest, answer: RpcMessage, { headers }: Response): void {
    const id = headers.get('mcp-session-id') ?? undefined;
    const begun = beginSession(session, initialize, { answer, id });
    if (begun === undefined) return;
    replaced.abort();
    replaced = new AbortController();
    session = begun;
  }

  async function openStream(
    on: FrontSession | undefined,
    lastEventId: string | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const { url, token } = await reached();
    const headers = {
      accept: 'text/event-stream',
      ...sessionHeaders(on ?? { id: '', version: '' }),
      ...authorization(await token()),
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    };
    return await fetch(url, { headers, signal });
  }

  async function listen(on: FrontSession): Promise<void> {
    const signal = AbortSignal.any([replaced.signal, closed]);
    let lastEventId: string | undefined;
    while (!signal.aborted) {
      try {
        const response = await openStream(on, lastEventId, signal);
        if (response.status !== 200) {
          await response.body?.cancel();
          // Other errors also occur with the next request, which can report them.
          return response.status === 404 ? await recover({ hasMoved: false }) : undefined;
        }
        await readMessages(response, write, (id) => {
          lastEventId = id;
        });
      } catch {
        // Closed or refused: only retry here; the next request detects whether the aggregator has stopped.
      }
      await interruptibleDelay(retryMs, signal);
    }
  }

  return {
    get hasSession() {
      return session !== undefined;
    },
    send,
    post,
    resume: (lastEventId, signal) => openStream(session, lastEventId, signal),
    recordAnswer(request, answer, response) {
      if (request.method === 'initialize') begin(request, answer, response);
      else if (session !== undefined && 'result' in answer) session = recordWish(session, request);
    },
    listen: () => void (session && listen(session)),
    async end(timeoutMs) {
      if (session?.id === undefined || endpoint === undefined) return;
      const { url, token } = await endpoint;
      const headers = { ...sessionHeaders(session), ...authorization(await token()) };
      const response = await fetch(url, { method: 'DELETE', headers, signal: AbortSignal.timeout(timeoutMs) });
      await response.body?.cancel();
    },
  };
}

const authorization = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

/** The connection was refused, so nothing was executed. */
function neverSent(error: unknown): boolean {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && current.code === 'ECONNREFUSED') return true;
  }
  return false;
}
