/** config → createApp → run until a signal → close. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, createApp } from './app.ts';
import { loadConfig } from './config.ts';
import { giveBackWhenQuiet } from './memory.ts';

export async function serve(environment: NodeJS.ProcessEnv, flags: Partial<Record<string, string>>): Promise<void> {
  const { config, app, withdrawAddress } = await start(environment, flags);
  const { log } = app;
  if (app.adminTokenFile !== undefined) log.info({ file: app.adminTokenFile }, 'the admin token is in this file');

  // Through the log, because Node's own report of a crash would show the message as it is, secrets and all.
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'crashed');
    process.exit(1);
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.once(signal, () => {
      log.info({ signal }, 'closing');
      withdrawAddress();
      // Whatever hangs must not keep us; our children end with us however we end.
      setTimeout(
        () => {
          log.error('closing took too long');
          process.exit(1);
        },
        Math.max(config.shutdownTimeoutMs, leastClosingMs),
      ).unref();
      app.close().then(
        () => process.exit(0),
        (error: unknown) => {
          log.error({ err: error }, 'closing failed');
          process.exit(1);
        },
      );
    });
  }
}

const leastClosingMs = 5_000;

/** For a command that needs an aggregator where none runs. It ends with the command, or with a signal. */
export async function serveInProcess(
  environment: NodeJS.ProcessEnv,
  flags: Partial<Record<string, string>>,
): Promise<{ url: string; close: () => Promise<void> }> {
  const { app, withdrawAddress } = await start(environment, flags);
  const close = async () => {
    withdrawAddress();
    await app.close();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => void close().then(() => process.exit(0)));
  return { url: app.url, close };
}

async function start(environment: NodeJS.ProcessEnv, flags: Partial<Record<string, string>>) {
  const config = loadConfig(environment, flags);
  const app = await createApp(config);
  const withdrawAddress = publishAddress(app);
  app.log.info({ url: app.url, data_dir: app.dataDir }, 'mcp-aggregator is listening');
  giveBackWhenQuiet();
  process.on('unhandledRejection', (error) => app.log.error({ err: error }, 'unhandled rejection'));
  return { config, app, withdrawAddress };
}

/** The command line finds a running aggregator by this file, whatever port it was given. */
function publishAddress({ url, dataDir }: App): () => void {
  const file = join(dataDir, 'address.json');
  writeFileSync(`${file}.new`, `${JSON.stringify({ url, pid: process.pid })}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return () => rmSync(file, { force: true });
}
