/**
 * Runs a command with a PostgreSQL of its own: `node test/support/with-postgres.ts <command…>`.
 * The command finds it in TEST_DATABASE_URL; its exit code is passed on.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startPostgres } from './postgres.ts';

const [command, ...args] = process.argv.slice(2);
if (command === undefined) throw new Error('Usage: with-postgres.ts <command…>');

// Nothing here has to survive a power cut.
const postgres = await startPostgres([
  ...['fsync=off', 'full_page_writes=off', 'synchronous_commit=off', 'autovacuum=off'],
  ...['wal_level=minimal', 'max_wal_senders=0'],
]);

let exitCode = 1;
try {
  const child = spawn(command, args, {
    stdio: 'inherit',
    env: { ...process.env, TEST_DATABASE_URL: postgres.url },
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  const [code] = await once(child, 'exit');
  if (typeof code === 'number') exitCode = code;
} finally {
  await postgres.remove();
}
// Said outright: the package's own exit hook would turn a code that is only set into 0.
process.exit(exitCode);
