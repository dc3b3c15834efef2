import { createInterface } from 'node:readline';
import { errorMessage, isObject, type RpcId, type RpcMessage } from './json-rpc.ts';
import { createLegacyPeer } from './legacy-peer.ts';
import { answerModern } from './modern-exchange.ts';
import type { Era, Program } from './program.ts';

/** Serves a program on this process's stdin and stdout until stdin ends. */
export function serveStdio(program: Program, era: Era, initializeDelayMs = 0): void {
  const receive = era === 'legacy' ? legacyReceiver(program, initializeDelayMs) : modernReceiver(program);
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const message: unknown = JSON.parse(line);
    for (const one of Array.isArray(message) ? message : [message])
      if (isObject(one)) receive(one as unknown as RpcMessage);
  });
  lines.on('close', () => process.exit(0));
}

export function writeLine(message: RpcMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function legacyReceiver(program: Program, initializeDelayMs: number): (message: RpcMessage) => void {
  const wire = { send: writeLine, hangUp: () => process.exit(1), shutDown: () => process.exit(0) };
  return createLegacyPeer(program, wire, initializeDelayMs).receive;
}

function modernReceiver(program: Program): (message: RpcMessage) => void {
  const running = new Map<RpcId, AbortController>();

  async function answer(id: RpcId, method: string, message: RpcMessage): Promise<void> {
    const controller = new AbortController();
    running.set(id, controller);
    const wire = {
      signal: controller.signal,
      notify: writeLine,
      hangUp: () => process.exit(1),
      shutDown: () => process.exit(0),
    };
    try {
      const result = await answerModern(program, { ...message, id, method }, wire);
      if (!controller.signal.aborted) writeLine({ jsonrpc: '2.0', id, result });
    } catch (error) {
      if (!controller.signal.aborted) writeLine(errorMessage(id, error));
    } finally {
      running.delete(id);
    }
  }

  return (message) => {
    const { id, method, params } = message;
    if (method === 'notifications/cancelled') running.get(params?.requestId as RpcId)?.abort();
    else if (method !== undefined && id != null) void answer(id, method, message);
  };
}
