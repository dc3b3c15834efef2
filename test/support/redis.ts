/** Debian's redis-server on loopback, without anything on disk. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from './ports.ts';

export interface RedisProcess {
  url: string;
  /** Comes back on the same port, empty. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

export async function startRedis(): Promise<RedisProcess> {
  const port = await freePort();
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const started = spawn(
      'redis-server',
      ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--daemonize', 'no'],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    child = started;
    const ready = Promise.withResolvers<void>();
    started.stdout.on('data', (text: Buffer) => {
      if (text.includes('Ready to accept connections')) ready.resolve();
    });
    started.once('exit', (code) => ready.reject(new Error(`redis-server ended with ${code}`)));
    await ready.promise;
  }

  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    async stop() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}
