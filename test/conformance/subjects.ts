/** The servers that the suite is run against, directly and through the aggregator. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/ports.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { startFixtureServer } from './fixture-server.ts';
import { startSdkServer } from './sdk-server.ts';
import type { Requirements } from './suite.ts';

export type Era = 'legacy' | 'modern';
/** `one`: /mcp/servers/{name}. `all`: /mcp. */
export type Endpoint = 'one' | 'all';

export interface Subject {
  name: string;
  requirements: readonly Requirements[];
  endpoints: readonly Endpoint[];
  /** What a client of the era reaches without the aggregator. */
  startDirect(era: Era): Promise<RunningServer>;
  /** What the aggregator is put in front of. */
  behind: Readonly<Record<string, () => Promise<RunningServer>>>;
}

export const subjects: readonly Subject[] = [
  {
    name: 'one era',
    requirements: ['2025-11-25', '2026-07-28'],
    endpoints: ['one'],
    startDirect: (era) => startFixtureServer({ era }),
    behind: {
      legacy: () => startFixtureServer({ era: 'legacy' }),
      modern: () => startFixtureServer({ era: 'modern' }),
    },
  },
  {
    name: 'both eras',
    requirements: ['2025-11-25', '2026-07-28'],
    endpoints: ['one', 'all'],
    startDirect: () => startSdkServer(),
    behind: { SDK: () => startSdkServer() },
  },
  {
    name: 'server-everything',
    requirements: ['2025-11-25'],
    endpoints: ['one', 'all'],
    startDirect: startEverything,
    behind: { everything: startEverything },
  },
];

const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));

async function startEverything(): Promise<RunningServer> {
  const port = await freePort();
  const child = spawn(process.execPath, [everything, 'streamableHttp'], {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await once(child.stderr, 'data'); // it says so when it listens
  child.stderr.resume();
  return { url: `http://127.0.0.1:${port}/mcp`, close: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
