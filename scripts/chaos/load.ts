/** A steady stream of calls, each with a payload that no other has, and what became of every one of them. */
import { setTimeout as delay } from 'node:timers/promises';
import { modernRequest } from '../../test/support/modern-request.ts';
import type { Random } from './random.ts';
import { type Replica, token } from './replica.ts';

export interface Tally {
  sent: number;
  results: number;
  /** Clear errors, by their code. */
  errors: Map<string, number>;
  /** The replica was not there: refused, or cut off while it was killed. */
  refused: number;
  lost: string[];
  wrong: string[];
}

export interface Load {
  readonly tally: Tally;
  /** Calls that wait for their answer. */
  readonly open: number;
  /** Resolves when every call has its answer. */
  stop(): Promise<void>;
}

export interface LoadOptions {
  replicas: readonly Replica[];
  /** Names of servers with a tool `echo`. */
  servers: readonly string[];
  callsPerSecond: number;
  random: Random;
}

/** Longer than any timeout of ours: a call without an answer by then will never have one. */
const lostAfterMs = 60_000;
/** A killed process is noticed, and a started one listens, a little before we write it down. */
const slackMs = 500;

export function startLoad({ replicas, servers, callsPerSecond, random }: LoadOptions): Load {
  const tally: Tally = { sent: 0, results: 0, errors: new Map(), refused: 0, lost: [], wrong: [] };
  const stopped = new AbortController();
  const calls = new Set<Promise<void>>();
  const running = run();

  async function run(): Promise<void> {
    const started = performance.now();
    for (let number = 1; !stopped.signal.aborted; number += 1) {
      const call = one(number).finally(() => calls.delete(call));
      calls.add(call);
      const due = started + (number * 1_000) / callsPerSecond;
      const wait = due - performance.now();
      if (wait > 0) await delay(wait, undefined, { signal: stopped.signal }).catch(() => undefined); // stopped
    }
  }

  async function one(number: number): Promise<void> {
    const replica = random.pick(replicas);
    const server = random.pick(servers);
    const payload = `payload-${number}-${Math.floor(random() * 1e9)}`;
    const send = number % 2 === 0 ? overRest : overMcp;
    const startedAt = performance.now();
    tally.sent += 1;
    let answer: Answer;
    try {
      answer = await send(replica, server, payload, number, AbortSignal.timeout(lostAfterMs));
    } catch (error) {
      const wasOut = replica.outages.some(
        ({ from, until }) => from - slackMs <= performance.now() && startedAt <= until + slackMs,
      );
      if (wasOut) tally.refused += 1;
      else
        tally.lost.push(
          `${server} through ${replica.name}, after ${Math.round(performance.now() - startedAt)} ms: ${error}`,
        );
      return;
    }
    if (answer.kind === 'error') return void tally.errors.set(answer.code, (tally.errors.get(answer.code) ?? 0) + 1);
    if (answer.payload === payload) tally.results += 1;
    else tally.wrong.push(`${payload} was answered with ${answer.payload}`);
  }

  return {
    tally,
    get open() {
      return calls.size;
    },
    async stop() {
      stopped.abort();
      await running;
      await Promise.all(calls);
    },
  };
}

type Answer = { kind: 'result'; payload: unknown } | { kind: 'error'; code: string };

async function overRest(
  replica: Replica,
  server: string,
  text: string,
  _number: number,
  signal: AbortSignal,
): Promise<Answer> {
  const call = { name: `${server}.echo`, arguments: { text } };
  const { status, body } = await replica.api('POST', '/tools/call', call, signal);
  const answer = body as { error_code?: string; structuredContent?: { arguments?: { text?: unknown } } };
  if (status !== 200) return { kind: 'error', code: answer.error_code ?? `HTTP ${status}` };
  return { kind: 'result', payload: answer.structuredContent?.arguments?.text };
}

async function overMcp(
  { send }: Replica,
  server: string,
  text: string,
  id: number,
  signal: AbortSignal,
): Promise<Answer> {
  const name = `${server}__echo`;
  const { message, headers } = modernRequest('tools/call', { name, arguments: { text } }, { id });
  const response = await send('/mcp', {
    method: 'POST',
    signal,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(message),
  });
  const { text: received } = response;
  const messages = response.contentType.startsWith('text/event-stream')
    ? [...received.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data))
    : [JSON.parse(received)];
  const answers = messages.filter((message) => message.id === id || (message.id === null && response.status >= 400));
  if (answers.length !== 1) return { kind: 'result', payload: `${answers.length} answers` };
  const [{ result, error }] = answers;
  if (error !== undefined)
    return { kind: 'error', code: `JSON-RPC ${error.code} ${String(error.message).split(':')[0]}` };
  return { kind: 'result', payload: result.structuredContent?.arguments?.text };
}
