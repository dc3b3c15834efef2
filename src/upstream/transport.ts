/** From a server's connection config to a live session: the one place that knows the transports. */
import type { ChildUser } from '../config/parsers.ts';
import type { Connection } from '../registry/server.ts';
import { type EraVerdict, type HandshakeOptions, LeftOnProbe, shakeHandsOnChannel, shakeHandsOnHttp } from './era.ts';
import type { MessageBudget } from './message-budget.ts';
import type { OrphanReaper } from './orphan-reaper.ts';
import type { Session } from './session.ts';
import { openSse } from './sse.ts';
import { type Child, startChild } from './stdio.ts';
import { type Credentials, createWire } from './wire.ts';

interface OpenOptions extends HandshakeOptions {
  /** With `${VAR}` already resolved. */
  connection: Connection;
  childEnvironment: (own: Record<string, string>) => NodeJS.ProcessEnv;
  childUser?: ChildUser;
  connectTimeoutMs: number;
  messageBudget: MessageBudget;
  orphanReaper: OrphanReaper;
  onLine: (line: string) => void;
  credentials?: Credentials;
  mask?: (text: string) => string;
}

interface OpenedSession {
  session: Session;
  verdict: EraVerdict;
  pid?: number;
}

export async function openSession(options: OpenOptions): Promise<OpenedSession> {
  const { connection } = options;
  switch (connection.transport_type) {
    case 'STDIO':
      return await openChild(connection.connection_config, options);
    case 'SSE':
      return judged(
        await openSseSession(connection.connection_config.url, connection.connection_config.headers, options),
      );
    case 'HTTP':
      return judged(
        await openHttp(connection.connection_config.base_url, connection.connection_config.headers, options),
      );
  }
}

const judged = (session: Session): OpenedSession => ({
  session,
  verdict: { era: session.era, checkedAt: new Date().toISOString() },
});

async function openChild(
  config: Extract<Connection, { transport_type: 'STDIO' }>['connection_config'],
  options: OpenOptions,
): Promise<OpenedSession> {
  let child: Child | undefined;
  const connect = (mayProbe: boolean) =>
    shakeHandsOnChannel(
      (handlers) => {
        child = startChild(
          {
            command: config.command,
            args: config.args ?? [],
            env: withProgress(config.command, options.childEnvironment(config.env ?? {})),
            cwd: config.cwd,
            user: options.childUser,
            messageBudget: options.messageBudget,
            orphanReaper: options.orphanReaper,
            onLine: options.onLine,
          },
          handlers,
        );
        return child;
      },
      { ...options, events: quietUntilOpen.events, mayProbe },
    );

  // A child that leaves during the handshake is not a lost connection yet.
  const quietUntilOpen = gateClose(options);
  const session = await connect(true).catch((error: unknown) => {
    if (!(error instanceof LeftOnProbe)) throw error;
    return connect(false);
  });
  quietUntilOpen.open();
  return { ...judged(session), pid: child?.pid };
}

/** npm is silent while it downloads, unless it is told to name what it fetches. */
function withProgress(command: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return /(^|[\\/])np[mx](\.cmd)?$/i.test(command) ? { npm_config_loglevel: 'http', ...env } : env;
}

function gateClose({ events }: OpenOptions) {
  let opened = false;
  return {
    events: {
      ...events,
      onClose: (error: Parameters<typeof events.onClose>[0]) => {
        if (opened) events.onClose(error);
      },
    },
    open: () => {
      opened = true;
    },
  };
}

async function openSseSession(url: string, headers: Record<string, string> | undefined, options: OpenOptions) {
  const wire = wireTo(url, headers, options);
  try {
    const open = await openSse({ wire, signal: options.signal });
    return await shakeHandsOnChannel(open, { ...options, mayProbe: false });
  } catch (error) {
    await wire.close();
    throw error;
  }
}

async function openHttp(url: string, headers: Record<string, string> | undefined, options: OpenOptions) {
  const wire = wireTo(url, headers, options);
  try {
    const session = await shakeHandsOnHttp(wire, options);
    if (session !== 'try-sse') return session;
  } catch (error) {
    await wire.close();
    throw error;
  }
  await wire.close();
  return await openSseSession(url, headers, options);
}

function wireTo(url: string, headers: Record<string, string> | undefined, options: OpenOptions) {
  return createWire({
    url,
    headers: headers ?? {},
    connectTimeoutMs: options.connectTimeoutMs,
    messageBudget: options.messageBudget,
    credentials: options.credentials,
    mask: options.mask,
  });
}
