/** config → createApp → run until a signal → close. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, createApp } from './app.ts';
import { type Config, loadConfig } from './config/config.ts';
import type { Logger } from './log.ts';

export async function serve(environment: NodeJS.ProcessEnv, flags: Partial<Record<string, string>>): Promise<void> {
  const config = loadConfig(environment, flags);
  // Registered before the start, so that a signal during the start is handled.
  const signalled = Promise.withResolvers<NodeJS.Signals>();
  let log: Logger | undefined;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.once(signal, () => {
      // A hanging close must not block the exit; child processes end with this process.
      setTimeout(
        () => {
          log?.error('shutdown timed out');
          process.exit(1);
        },
        Math.max(config.shutdownTimeoutMs, minClosingMs),
      ).unref();
      signalled.resolve(signal);
    });
  }
  const { app, withdrawAddress } = await start(config);
  log = app.log;
  if (app.adminTokenFile !== undefined) app.log.info({ file: app.adminTokenFile }, 'the admin token is in this file');

  // Logged here, because Node's own crash report would print the message with unmasked secrets.
  process.on('uncaughtException', (error) => {
    app.log.fatal({ err: error }, 'crashed');
    process.exit(1);
  });
  const end = async (signal: NodeJS.Signals) => {
    app.log.info({ signal }, 'closing');
    withdrawAddress();
    await app.close();
  };
  signalled.promise.then(end).then(
    () => process.exit(0),
    (error: unknown) => {
      app.log.error({ err: error }, 'shutdown failed');
      process.exit(1);
    },
  );
}

const minClosingMs = 5_000;

/** Starts an aggregator for a command if none is running. It ends with the command or with a signal. */
export async function serveInProcess(
  environment: NodeJS.ProcessEnv,
  flags: Partial<Record<string, string>>,
): Promise<{ url: string; close: () => Promise<void> }> {
  const config = loadConfig(environment, flags);
  const signalled = Promise.withResolvers<void>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => signalled.resolve());
  const { app, withdrawAddress } = await start(config);
  const close = async () => {
    withdrawAddress();
    await app.close();
  };
  void signalled.promise.then(close).then(() => process.exit(0));
  return { url: app.url, close };
}

async function start(config: Config) {
  const app = await createApp(config);
  const withdrawAddress = publishAddress(app);
  app.log.info({ url: app.url, data_dir: app.dataDir }, 'mcp-aggregator is listening');
  process.on('unhandledRejection', (error) => app.log.error({ err: error }, 'unhandled rejection'));
  return { app, withdrawAddress };
}

/** Lets the command line find a running aggregator on any port. */
function publishAddress({ url, dataDir }: App): () => void {
  const file = join(dataDir, 'address.json');
  writeFileSync(`${file}.new`, `${JSON.stringify({ url, pid: process.pid })}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return () => rmSync(file, { force: true });
}
