/** config → createApp → run until a signal → close. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, createApp } from './app.ts';
import { type Config, loadConfig } from './config/config.ts';
import { collectWhenIdle } from './idle-collection.ts';
import type { Logger } from './log.ts';
import { onStopRequested } from './stop-file.ts';
import { version } from './version.ts';

export async function serve(environment: NodeJS.ProcessEnv, flags: Partial<Record<string, string>>): Promise<void> {
  const config = loadConfig(environment, flags);
  // Registered before the start, so that a signal during the start is handled.
  const signalled = Promise.withResolvers<NodeJS.Signals>();
  let log: Logger | undefined;
  function handle(signal: NodeJS.Signals): void {
    // A hanging close must not block the exit; child processes end with this process.
    setTimeout(() => {
      log?.error('shutdown timed out');
      process.exit(1);
    }, config.shutdownDelayMs + Math.max(config.shutdownTimeoutMs, minClosingMs)).unref();
    signalled.resolve(signal);
  }
  for (const signal of signals) process.once(signal, handle);
  const { app, withdrawAddress } = await start(config);
  log = app.log;
  if (isWindows) onStopRequested(app.dataDir, () => handle('SIGTERM'));
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
const isWindows = process.platform === 'win32';
/** SIGBREAK: Ctrl+Break, and the end of a console on Windows. */
const signals: readonly NodeJS.Signals[] = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  ...(isWindows ? (['SIGBREAK'] as const) : []),
];

async function start(config: Config) {
  const app = await createApp(config);
  const withdrawAddress = publishAddress(app);
  collectWhenIdle();
  app.log.info({ url: app.url, data_dir: app.dataDir }, 'mcp-aggregator is listening');
  process.on('unhandledRejection', (error) => app.log.error({ err: error }, 'unhandled rejection'));
  return { app, withdrawAddress };
}

/** Lets the command line find a running aggregator on any port. */
function publishAddress({ url, dataDir }: App): () => void {
  const file = join(dataDir, 'address.json');
  writeFileSync(`${file}.new`, `${JSON.stringify({ url, pid: process.pid, version })}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  // Clients know the address: one that is started in the background takes the same port again.
  writeFileSync(join(dataDir, 'port'), new URL(url).port);
  return () => rmSync(file, { force: true });
}
