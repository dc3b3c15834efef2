/** 22 servers with 2,011 tools behind a running aggregator, calls at a steady rate, and what a page makes of them. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { AggregatorProcess } from '../support/aggregator-process.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import { createProgram, text } from '../support/servers/program.ts';
import { until } from '../support/until.ts';

export interface LargeInstallation {
  servers: number;
  tools: number;
  /** Calls one after another at this rate; how many were made. */
  load(perSecond: number, seconds: number): Promise<number>;
  close(): Promise<void>;
}

const serverCount = 22;
const toolCount = 2_011;

export async function createLargeInstallation({ url, token }: AggregatorProcess): Promise<LargeInstallation> {
  const send = (path: string, body: unknown) =>
    fetch(`${url}/api/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const names = Array.from({ length: serverCount }, (_, place) => `team-${String(place + 1).padStart(2, '0')}`);
  const programs = await Promise.all(
    names.map(async (name, place) => {
      const share = Math.floor(toolCount / serverCount) + (place < toolCount % serverCount ? 1 : 0);
      const program = createProgram({ info: { name, version: '1' }, tools: toolsOf(name, share) });
      return await startHttpProgram(program, { transport: 'streamable-modern' });
    }),
  );
  for (const [place, name] of names.entries()) {
    const connection_config = { base_url: programs[place]?.url };
    const { status } = await send('aggregator/servers', { name, transport_type: 'HTTP', connection_config });
    assert.equal(status, 201);
  }
  await until(async () => {
    const response = await fetch(`${url}/api/v1/aggregator/state`, { headers: { authorization: `Bearer ${token}` } });
    return ((await response.json()) as { total_tools: number }).total_tools === toolCount;
  }, 'all tools are known');
  return {
    servers: serverCount,
    tools: toolCount,
    async load(perSecond, seconds) {
      const calls: Promise<unknown>[] = [];
      const started = performance.now();
      for (let number = 0; number < perSecond * seconds; number += 1) {
        await delay(Math.max(0, started + (number * 1_000) / perSecond - performance.now()));
        const server = names[number % names.length];
        calls.push(send('tools/call', { name: `${server}.find_invoice_0`, arguments: {} }));
      }
      await Promise.all(calls);
      return calls.length;
    },
    async close() {
      for (const program of programs) await program.close();
    },
  };
}

function toolsOf(server: string, share: number) {
  const [verbs, subjects] = [
    ['find', 'create', 'archive', 'share', 'rename'],
    ['invoice', 'ticket', 'photo', 'contract', 'parcel'],
  ];
  return Array.from({ length: share }, (_, number) => ({
    definition: {
      name: `${verbs[number % 5]}_${subjects[Math.floor(number / 5) % 5]}_${number}`,
      description: `Lets ${server} ${verbs[number % 5]} the ${subjects[Math.floor(number / 5) % 5]} of department ${number}`,
      inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
    },
    call: () => text('done'),
  }));
}

export interface Smoothness {
  /** Milliseconds of the longest task of the main thread. */
  longestTaskMs: number;
  longTasks: number;
  /** Milliseconds from an input to the next picture, the slowest. */
  slowestInputMs: number;
}

/** Measures from here on; ask with the returned function. */
export async function observeSmoothness(page: Page): Promise<() => Promise<Smoothness>> {
  await page.evaluate(`{
    const seen = { longestTaskMs: 0, longTasks: 0, slowestInputMs: 0 };
    window.smoothness = seen;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        seen.longTasks += 1;
        seen.longestTaskMs = Math.max(seen.longestTaskMs, duration);
      }
    }).observe({ type: 'longtask' });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) seen.slowestInputMs = Math.max(seen.slowestInputMs, duration);
    }).observe({ type: 'event', durationThreshold: 16 });
  }`);
  return async () => (await page.evaluate('window.smoothness')) as Smoothness;
}
