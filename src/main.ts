/** config → createApp → run until a signal → close. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApp } from './app.ts';
import { loadConfig } from './config.ts';

export async function serve(environment: NodeJS.ProcessEnv, flags: Partial<Record<string, string>>): Promise<void> {
  const config = loadConfig(environment, flags);
  const app = await createApp(config);
  const { log } = app;
  // The command line finds a running aggregator by this file, whatever port it was given.
  const addressFile = join(app.dataDir, 'address.json');
  writeFileSync(addressFile, `${JSON.stringify({ url: app.url, pid: process.pid })}\n`, { mode: 0o600 });
  log.info({ url: app.url, data_dir: app.dataDir }, 'mcp-aggregator is listening');
  if (app.adminTokenFile !== undefined) log.info({ file: app.adminTokenFile }, 'the admin token is in this file');

  // Through the log, because Node's own report of a crash would show the message as it is, secrets and all.
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'crashed');
    process.exit(1);
  });
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled rejection'));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      log.info({ signal }, 'closing');
      rmSync(addressFile, { force: true });
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
