/**
 * Finds out which revisions a server speaks and shakes hands accordingly (MCP-001). The verdict is remembered with
 * a date: one that says «legacy» would otherwise never notice that the server was updated.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { RpcError } from '../errors.ts';
import {
  isObject,
  type JsonObject,
  legacyVersions,
  modernVersions,
  newestLegacy,
  newestModern,
  rpcCodes,
} from '../json-rpc.ts';
import { createHttpSession } from './http.ts';
import { HttpProblem, requestHeaders } from './http-messages.ts';
import { joinParts } from './lines.ts';
import {
  adaptParams,
  type Channel,
  type ChannelHandlers,
  type ClientIdentity,
  ConnectionLost,
  createConversation,
  MessageTooLarge,
  ourInfo,
  type ServerIdentity,
  type Session,
  type SessionEvents,
} from './session.ts';
import { contentType, hasMessages, header, readEvents, refuseDenied, type Wire, type WireAnswer } from './wire.ts';

export interface EraVerdict {
  era: 'modern' | 'legacy';
  checkedAt: string;
}

const verdictLifetimeMs = 7 * 24 * 3_600_000;
/** How long a child may stay silent on `server/discover` before it is also asked in the old way. */
const patienceMs = 2_000;

function isFresh(verdict: EraVerdict | undefined, now: number): verdict is EraVerdict {
  return verdict !== undefined && now - Date.parse(verdict.checkedAt) < verdictLifetimeMs;
}

export interface HandshakeOptions {
  verdict: EraVerdict | undefined;
  client: ClientIdentity;
  events: SessionEvents;
  signal: AbortSignal;
}

/** The server left when it was asked for its era: some end on any request before `initialize`. */
export class LeftOnProbe extends Error {}

/** STDIO and HTTP+SSE. */
export async function shakeHandsOnChannel(
  open: (handlers: ChannelHandlers) => Channel,
  options: HandshakeOptions & { mayProbe: boolean },
): Promise<Session> {
  const conversation = createConversation(open, options.events);
  const onAbort = () => void conversation.close();
  options.signal.addEventListener('abort', onAbort, { once: true });
  try {
    const identity = await identify();
    conversation.settle(identity);
    if (identity.era === 'legacy') await conversation.notify('notifications/initialized');
    const { request, relay, notify, close } = conversation;
    return {
      ...identity,
      get heardAt() {
        return conversation.heardAt;
      },
      request,
      relay,
      notify,
      close,
    };
  } catch (error) {
    await conversation.close();
    throw options.signal.aborted ? options.signal.reason : error;
  } finally {
    options.signal.removeEventListener('abort', onAbort);
  }

  async function identify(): Promise<ServerIdentity> {
    const initialize = async () =>
      fromInitialize(await conversation.request('initialize', initializeParams(options.client)));
    const known = isFresh(options.verdict, Date.now()) ? options.verdict.era : undefined;
    if (!options.mayProbe || known === 'legacy') return await initialize();

    conversation.settle({ era: 'modern', protocolVersion: newestModern });
    const discovered = conversation
      .request('server/discover', {}, { client: options.client })
      .then(fromDiscover, (error: unknown) => {
        if (error instanceof RpcError) return undefined;
        throw error instanceof ConnectionLost ? new LeftOnProbe(error.message, { cause: error }) : error;
      });
    const first = await Promise.race([discovered, delay(patienceMs, 'silent' as const, { ref: false })]);
    if (first !== 'silent') {
      if (first !== undefined) return first;
      conversation.settle({ era: 'legacy', protocolVersion: newestLegacy });
      return await initialize();
    }
    // Slow to start, or deaf to unknown methods: ask both ways, the first good answer decides.
    conversation.settle({ era: 'legacy', protocolVersion: newestLegacy });
    const initialized = initialize();
    initialized.catch(() => undefined); // reported below if it is what decides
    return (await Promise.race([discovered, initialized])) ?? (await initialized);
  }
}

export async function shakeHandsOnHttp(wire: Wire, options: HandshakeOptions): Promise<Session | 'try-sse'> {
  const { client, events, signal } = options;
  const known = isFresh(options.verdict, Date.now()) ? options.verdict.era : undefined;
  if (known !== 'legacy') {
    const discovered = await discover(wire, options);
    if (discovered !== undefined) return createHttpSession({ wire, events, identity: discovered });
  }
  const opened = await initialize(wire, client, signal);
  if (opened === 'try-sse') return opened;
  const reopen = async () => {
    const fresh = await initialize(wire, client, undefined);
    if (fresh === 'try-sse') throw new ConnectionLost('the server no longer accepts sessions', 'no');
    return fresh;
  };
  return createHttpSession({ wire, events, ...opened, reopen });
}

/** Undefined when the server is of the old era. 401, 403 and 5xx say nothing about the era and are thrown. */
async function discover(
  wire: Wire,
  options: HandshakeOptions,
  /** Set when the server refused our first choice and named this one. */
  version?: string,
): Promise<ServerIdentity | undefined> {
  const modern = { era: 'modern', protocolVersion: version ?? newestModern } as const;
  const answer = await wire.send('POST', {
    headers: requestHeaders(modern, undefined, 'server/discover'),
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'server/discover',
      params: adaptParams({}, modern, options.client),
    }),
    signal: options.signal,
  });
  refuseDenied(answer);
  if (answer.status >= 500) {
    throw new HttpProblem(answer.status, answer.body.toString('utf8'));
  }
  const outcome = await firstResponse(answer, wire);
  if (isObject(outcome?.result)) return fromDiscover(outcome.result);
  const offered = supportedIn(outcome?.error);
  return offered === undefined || version !== undefined ? undefined : await discover(wire, options, offered);
}

/** Only a server of the new era refuses a version by this error; it says which ones it speaks. */
function supportedIn(error: unknown): string | undefined {
  if (!isObject(error) || error.code !== rpcCodes.unsupportedVersion || !isObject(error.data)) return undefined;
  const { supported } = error.data;
  return modernVersions.find((candidate) => Array.isArray(supported) && supported.includes(candidate));
}

async function initialize(
  wire: Wire,
  client: ClientIdentity,
  signal: AbortSignal | undefined,
): Promise<{ identity: ServerIdentity; sessionId?: string } | 'try-sse'> {
  const { 'mcp-protocol-version': _none, ...headers } = requestHeaders(
    { era: 'legacy', protocolVersion: '' },
    undefined,
  );
  const answer = await wire.send('POST', {
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initializeParams(client) }),
    signal,
  });
  refuseDenied(answer);
  const outcome = await firstResponse(answer, wire);
  if (isObject(outcome?.error))
    throw new RpcError(Number(outcome.error.code), String(outcome.error.message), outcome.error.data);
  if (!isObject(outcome?.result)) {
    if (answer.status === 400 || answer.status === 404 || answer.status === 405) return 'try-sse';
    throw new HttpProblem(answer.status, '');
  }
  const identity = fromInitialize(outcome.result);
  const sessionId = header(answer, 'mcp-session-id');
  await wire.send('POST', {
    headers: requestHeaders(identity, sessionId),
    body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
    signal,
  });
  return { identity, sessionId };
}

/** The first response in the answer, JSON or stream; undefined when there is none to read. */
async function firstResponse(answer: WireAnswer, wire: Wire): Promise<JsonObject | undefined> {
  const { events } = answer;
  if (events !== undefined) {
    let found: JsonObject | undefined;
    await readEvents(events, wire, {
      onEvent(event) {
        if (!hasMessages(event)) return false;
        requireShort(event.bytes);
        found ??= parseMessagesOrNone(joinParts(event.data).toString('utf8')).find(isAnswer);
        return false;
      },
      isDone: () => found !== undefined,
    }).catch((error: unknown) => {
      if (found === undefined) throw error;
    });
    return found;
  }
  if (contentType(answer) !== 'application/json') return undefined;
  requireShort(answer.body.length);
  const [message] = parseMessagesOrNone(answer.body.toString('utf8'));
  return message;
}

/** A server that says so much of itself is refused anyway. */
const maxHandshakeBytes = 4_194_304;

function requireShort(bytes: number): void {
  if (bytes > maxHandshakeBytes) throw new MessageTooLarge(maxHandshakeBytes, 'in the handshake');
}

const isAnswer = (message: JsonObject): boolean => 'result' in message || 'error' in message;

function parseMessagesOrNone(text: string): JsonObject[] {
  try {
    const parsed: unknown = JSON.parse(text);
    return (Array.isArray(parsed) ? parsed : [parsed]).filter(isObject);
  } catch {
    return []; // a proxy's error page under a JSON content type: not an MCP answer
  }
}

function initializeParams(client: ClientIdentity): JsonObject {
  return { protocolVersion: newestLegacy, capabilities: client.capabilities, clientInfo: client.info ?? ourInfo };
}

function fromInitialize(result: JsonObject): ServerIdentity {
  const version = String(result.protocolVersion);
  if (!(legacyVersions as readonly string[]).includes(version) && version !== '2024-10-07') {
    throw new ConnectionLost(`the server uses an unsupported protocol revision: ${version}`, 'no');
  }
  return {
    era: 'legacy',
    protocolVersion: version,
    capabilities: isObject(result.capabilities) ? result.capabilities : {},
    serverInfo: isObject(result.serverInfo) ? result.serverInfo : {},
    instructions: typeof result.instructions === 'string' ? result.instructions : undefined,
  };
}

/** Undefined when the server knows the method but none of our modern revisions. */
function fromDiscover(result: JsonObject): ServerIdentity | undefined {
  const supported = Array.isArray(result.supportedVersions) ? result.supportedVersions : [];
  const version = modernVersions.find((candidate) => supported.includes(candidate));
  if (version === undefined) return undefined;
  const meta = isObject(result._meta) ? result._meta : {};
  const info = meta['io.modelcontextprotocol/serverInfo'];
  return {
    era: 'modern',
    protocolVersion: version,
    capabilities: isObject(result.capabilities) ? result.capabilities : {},
    serverInfo: isObject(info) ? info : {},
    instructions: typeof result.instructions === 'string' ? result.instructions : undefined,
  };
}
