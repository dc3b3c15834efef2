/** Opens sessions with one server: the shared one and those of single clients, with what is known of its connection. */
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError, describe } from '../errors.ts';
import type { Era } from '../json-rpc.ts';
import { jsonSize } from '../json-size.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Connection } from '../registry/server.ts';
import { maskBeginning } from '../security/mask.ts';
import type { EraVerdict } from './era.ts';
import { withLogLevel } from './log-level.ts';
import type { MessageBudget } from './message-budget.ts';
import { maskNotice } from './notice.ts';
import type { OrphanReaper } from './orphan-reaper.ts';
import { type ClientIdentity, ConnectionLost, type Session, type SessionEvents } from './session.ts';
import { causeIn, isWarning } from './start-failure.ts';
import { createStartTimeout } from './start-timeout.ts';
import { openSession } from './transport.ts';
import { brief } from './unavailable.ts';
import type { Credentials } from './wire.ts';

export interface SessionOpenerDependencies {
  config: Config;
  changes: Changes;
  registry: Registry;
  orphanReaper: OrphanReaper;
  messageBudget: MessageBudget;
  childEnvironment: (own: Record<string, string>) => NodeJS.ProcessEnv;
  /** The session that all callers share has the keys of an admin. */
  isAdmin?: (user: string) => boolean;
  /** Tokens of servers that want some; undefined where this one gets none. Without a principal: the shared session's. */
  credentials?: (server: Server, connection: Connection, principal: string | undefined) => Credentials | undefined;
}

/** What stays the same as long as a link lasts. */
export type ServerConstants = Pick<Server, 'id' | 'name' | 'transport_type'>;

interface SessionOpenerOptions {
  server: ServerConstants;
  /** Its record as it is now. */
  current: () => Server;
  /** An attempt failed: the era that is remembered may be wrong. */
  isEraInDoubt: () => boolean;
  /** The credentials of the shared session were refused, whichever request met it. */
  onRefused: (error: unknown) => void;
}

export interface Opening {
  /** Whose credentials it is opened with: a user's. */
  principal?: string;
  /** Where it is not to be the one that the server was last met in. */
  era?: Era;
}

export interface SessionOpener {
  open(client: ClientIdentity, events: SessionEvents, ended: AbortSignal, how?: Opening): Promise<Session>;
  /** For one client, or with one principal's credentials. */
  openOwned(client: ClientIdentity, events: SessionEvents, how: Opening): Promise<Session>;
  forget(session: Session): void;
  forgetAll(): void;
  readonly childPids: number[];
  /** Whose keys the session has that all callers share. */
  readonly keyHolder: string | undefined;
  /** The last lines a child wrote to stderr, masked. */
  readonly output: readonly string[];
  /** Hides the secrets of the server's connection in a text, and those of the user whose credentials a session has. */
  mask(text: string, user?: string): string;
  /** Why a session could not be opened, or was lost. */
  explain(error: unknown): string;
}

const stderrLines = 40;
/** As many as have sessions with one server. */
const maxUsers = 1_000;
/** Two packages. */
const maxWarnings = 10;

export function createSessionOpener(
  deps: SessionOpenerDependencies,
  { server, current, isEraInDoubt, onRefused }: SessionOpenerOptions,
): SessionOpener {
  const { config, registry } = deps;
  const pids = new Map<Session, number>();
  const output: string[] = [];
  const warnings: string[] = [];
  /** Of the session that was opened last. */
  let recent: string[] = [];
  let mask = (text: string) => text;
  let keyHolder: string | undefined;
  const maskOfUser = new Map<string, (text: string) => string>();

  async function open(
    client: ClientIdentity,
    events: SessionEvents,
    ended: AbortSignal,
    { principal, era }: Opening = {},
  ): Promise<Session> {
    const resolved = await registry.resolveConnection(server.id, principal);
    const { connection, mask: maskOf } = resolved;
    if (principal === undefined) [mask, keyHolder] = [maskOf, resolved.keyHolder];
    else keepMask(principal, maskOf);
    if (connection.transport_type === 'STDIO' && config.stdio === 'deny') {
      throw new ConnectionLost('STDIO servers are disabled (MCP_AGGREGATOR_STDIO=deny)', 'no');
    }
    recent = [];
    const start = createStartTimeout(config.connectionTimeoutMs);
    const opened = await openSession({
      connection,
      client,
      events: {
        ...events,
        onNotification: (method, params) => events.onNotification(method, maskNotice(method, params, maskOf)),
      },
      verdict: toVerdict(era ?? pinnedEra(current())) ?? remembered(),
      signal: AbortSignal.any([ended, start.signal]),
      connectTimeoutMs: config.connectionTimeoutMs,
      messageBudget: deps.messageBudget,
      childEnvironment: deps.childEnvironment,
      childUser: config.childUser,
      orphanReaper: deps.orphanReaper,
      onLine(line) {
        // It is at work: npx downloads a package, Docker an image.
        start.restart();
        keepLine(line, maskOf);
      },
      credentials: credentialsOf(connection, principal),
      mask: maskOf,
    }).finally(start.clear);
    const session = withLogLevel(opened.session);
    await refuseLargeIdentity(session, config.maxDefinitionBytes);
    if (era === undefined) registry.recordVerdict(server.id, opened.verdict);
    if (opened.pid !== undefined) pids.set(session, opened.pid);
    return session;
  }

  const remembered = () => (isEraInDoubt() ? undefined : verdictOf(current()));

  function credentialsOf(connection: Connection, principal: string | undefined): Credentials | undefined {
    const given = deps.credentials?.(current(), connection, principal);
    if (given === undefined || principal !== undefined) return given;
    const watched = async <T>(asked: Promise<T>): Promise<T> => {
      try {
        return await asked;
      } catch (error) {
        onRefused(error);
        throw error;
      }
    };
    return {
      headers() {
        const headers = given.headers();
        return headers instanceof Promise ? watched(headers) : headers;
      },
      refused: (refusal) => watched(given.refused(refusal)),
    };
  }

  /** The oldest is of a user whose session has ended. */
  function keepMask(user: string, maskOf: (text: string) => string): void {
    maskOfUser.delete(user);
    maskOfUser.set(user, maskOf);
    const [oldest] = maskOfUser.keys();
    if (maskOfUser.size > maxUsers && oldest !== undefined) maskOfUser.delete(oldest);
  }

  function keepLine(line: string, maskOf: (text: string) => string): void {
    const text = maskBeginning(line, maskOf, 500);
    if (isWarning(text) && warnings.length < maxWarnings) warnings.push(text);
    for (const lines of [output, recent]) {
      lines.push(text);
      if (lines.length > stderrLines) lines.shift();
    }
    deps.changes.publish('server.output', { server_id: server.id, text });
  }

  async function openOwned(client: ClientIdentity, events: SessionEvents, how: Opening): Promise<Session> {
    try {
      return await open(client, events, new AbortController().signal, how);
    } catch (error) {
      if (error instanceof AppError && (error.code === 'LOGIN_REQUIRED' || error.code === 'KEY_REQUIRED')) throw error;
      const problem = `Server connection failed: ${server.name}: ${explain(error, how.principal)}`;
      throw new AppError('SERVER_CONNECTION_FAILED', problem, { cause: error, body: { server: brief(current()) } });
    }
  }

  const maskFor = (text: string, user: string | undefined) =>
    ((user === undefined ? undefined : maskOfUser.get(user)) ?? mask)(text);

  function explain(error: unknown, user?: string): string {
    const timedOut = error instanceof DOMException && error.name === 'TimeoutError';
    const seconds = config.connectionTimeoutMs / 1_000;
    const since = recent.length === 0 ? '' : ' of its last output';
    const cause = server.transport_type === 'STDIO' ? causeIn(recent, warnings) : undefined;
    const doubt = cause?.startsWith('npm ') ? '' : '; is it an MCP server?';
    const what = timedOut
      ? `no answer to the MCP handshake within ${seconds} s${since}${doubt}`
      : maskFor(describe(error), user);
    return cause === undefined ? what : `${what}: ${cause.slice(0, 300)}`;
  }

  return {
    open,
    openOwned,
    forget: (session) => void pids.delete(session),
    forgetAll: () => pids.clear(),
    get keyHolder() {
      return keyHolder;
    },
    get childPids() {
      return [...pids.values()];
    },
    output,
    mask: maskFor,
    explain,
  };
}

/** What a server says of itself is kept and stored, as its lists are. */
async function refuseLargeIdentity(session: Session, most: number): Promise<void> {
  const { instructions, capabilities, serverInfo } = session;
  const large = Object.entries({ instructions, capabilities, serverInfo }).find(
    ([, value]) => jsonSize(value, most).bytes > most,
  );
  if (large === undefined) return;
  await session.close();
  const problem = `the server sends ${large[0]} larger than ${most} bytes (MCP_AGGREGATOR_MAX_DEFINITION_BYTES)`;
  throw new AppError('SERVER_DATA_TOO_LARGE', problem);
}

const pinnedEra = ({ options: { protocol } }: Server): Era | undefined =>
  protocol === 'legacy' || protocol === 'modern' ? protocol : undefined;

const toVerdict = (era: Era | undefined): EraVerdict | undefined =>
  era === undefined ? undefined : { era, checkedAt: new Date().toISOString() };

function verdictOf(server: Server): EraVerdict | undefined {
  return server.era === null || server.era_checked_at === null
    ? undefined
    : { era: server.era, checkedAt: server.era_checked_at };
}
