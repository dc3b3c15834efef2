/** For every alert and severity: the fault that it is about, made for real. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  addUsualServers,
  deadModel,
  type InstallationName,
  type Installations,
  startHealthPage,
} from './installations.ts';
import type { Prometheus } from './prometheus.ts';

export interface Fault {
  alert: string;
  severity: 'warning' | 'critical';
  where: InstallationName;
  /** Before anything is scraped. */
  prepare?(world: Installations, directory: string): Promise<void>;
  /** Makes the fault until the signal aborts. */
  make(world: Installations, scene: Scene): Promise<void>;
}

interface Scene {
  signal: AbortSignal;
  prometheus: Prometheus;
  scale: number;
}

const auditQueue = 10_000;

export const faults: readonly Fault[] = [
  {
    alert: 'McpAggregatorDown',
    severity: 'critical',
    where: 'doomed',
    make: async ({ at }) => void (await at('doomed').process.stop('SIGKILL')),
  },
  serversDisconnected('warning', 10),
  serversDisconnected('critical', 20),
  routingSlow('warning', 82),
  routingSlow('critical', 300),
  healthCheckFailing('warning', 2),
  healthCheckFailing('critical', 1_000),
  {
    alert: 'McpAggregatorToolsUnclassified',
    severity: 'warning',
    where: 'warning',
    // Classified, and then a quarter more that is not, because the model is not available any more.
    async prepare({ at }, directory) {
      await addUsualServers(at('warning'), directory);
      await untilClassified(at('warning'));
      await at('warning').restart(await deadModel());
    },
    async make({ at, upstream }, { signal, prometheus }) {
      const ratio = `mcp_aggregator:unclassified_tools:ratio{instance="${at('warning').target}"}`;
      const small = await upstream('small');
      for (const name of [...small.program.tools.keys()].slice(6)) small.program.tools.delete(name);
      for (let number = 1; !signal.aborted; number += 1) {
        if (((await prometheus.value(ratio)) ?? 0) > 0.2) return;
        await at('warning').register(`small-${number}`, small.url);
        await pause(1_000, signal);
      }
    },
  },
  {
    alert: 'McpAggregatorToolsUnclassified',
    severity: 'critical',
    where: 'critical',
    make: async ({ at, upstream }) => at('critical').register('unclassified', (await upstream('unclassified')).url),
  },
  {
    alert: 'McpAggregatorCallsRejected',
    severity: 'warning',
    where: 'critical',
    async make({ at, upstream }, { signal }) {
      const { call, register } = at('critical');
      await register('busy', (await upstream('busy')).url, {
        options: { max_concurrent_calls: 1, max_queued_calls: 0 },
      });
      while (!signal.aborted) {
        await Promise.all([call('busy.slow', { ms: 100 }), call('busy.echo'), call('busy.echo')]);
        await pause(200, signal);
      }
    },
  },
  {
    alert: 'McpAggregatorToolChangePending',
    severity: 'warning',
    where: 'warning',
    async make({ at, upstream }) {
      const { program, url } = await upstream('changing');
      await at('warning').register('changing', url);
      const echo = program.tools.get('echo');
      if (echo === undefined) throw new Error('the server has no tool echo');
      program.tools.set('echo', { ...echo, definition: { ...echo.definition, description: 'Something else now' } });
      program.announce('notifications/tools/list_changed');
    },
  },
  {
    alert: 'McpAggregatorDatabaseErrors',
    severity: 'critical',
    where: 'stored',
    prepare: async ({ at, upstream }) => at('stored').register('one', (await upstream('one')).url),
    make: async ({ postgres }) => postgres.stop(),
  },
  {
    alert: 'McpAggregatorAuditIncomplete',
    severity: 'critical',
    where: 'stored',
    // While PostgreSQL is away: more calls than the queue has room for.
    async make({ at }, { signal }) {
      const worker = async () => {
        for (let number = 0; number < auditQueue / 4 && !signal.aborted; number += 1)
          await at('stored').call('one.echo');
      };
      await Promise.all(Array.from({ length: 8 }, worker));
    },
  },
  {
    alert: 'McpAggregatorEventLoopBlocked',
    severity: 'warning',
    where: 'starved',
    make: ({ at }, { signal }) => starve(at('starved').process.pid, signal),
  },
  {
    alert: 'McpAggregatorAnswerBlocksEventLoop',
    severity: 'warning',
    where: 'starved',
    prepare: async ({ at, upstream }) => at('starved').register('documents', (await upstream('documents')).url),
    async make({ at, upstream }, { signal }) {
      // A tenth of a second of CPU for each answer, in one piece: several times as long on a host that is short of CPU.
      const { program, url } = await upstream('large');
      const fields = Array.from({ length: 38_000 }, (_, number) => [`k${number}`, number]);
      const text = JSON.stringify(Object.fromEntries(fields));
      const readers: [name: string, description: string, parameter?: string][] = [
        ['search', 'Searches the release notes', 'query'],
        ['list_files', 'Lists the files of release notes'],
        ['read_file', 'Reads a file of release notes', 'path'],
        ['get_release', 'Gets a release by id', 'release_id'],
      ];
      program.tools.clear();
      for (const [name, description, parameter] of readers) {
        const parameters = parameter === undefined ? [] : [parameter];
        const properties = Object.fromEntries(parameters.map((one) => [one, { type: 'string' }]));
        const inputSchema = { type: 'object' as const, properties, required: parameters };
        program.tools.set(name, {
          definition: { name, description, inputSchema, annotations: { readOnlyHint: true } },
          call: () => ({ content: [{ type: 'text', text }] }),
        });
      }
      await at('starved').register('large', url);
      while (!signal.aborted) {
        await at('starved').api('POST', '/query', { query: 'release notes of the version 12', servers: ['large'] });
      }
    },
  },
];

/** Of so many that the servers of the other faults do not matter. */
function serversDisconnected(where: 'warning' | 'critical', lost: number): Fault {
  const upstreams: { close(): Promise<void> }[] = [];
  return {
    alert: 'McpAggregatorServersDisconnected',
    severity: where,
    where,
    async prepare({ at, upstream }) {
      for (let number = 1; number <= 20; number += 1) {
        const server = await upstream(`server-${number}`);
        upstreams.push(server);
        await at(where).register(`server-${number}`, server.url);
      }
    },
    async make() {
      for (const server of upstreams.slice(0, lost)) await server.close();
    },
  };
}

/** A tenth of the calls waits for one that takes `waitMs`. */
function routingSlow(where: 'warning' | 'critical', waitMs: number): Fault {
  return {
    alert: 'McpAggregatorRoutingSlow',
    severity: where,
    where,
    async make({ at, upstream }, { signal }) {
      const { call, register } = at(where);
      await register('narrow', (await upstream('narrow')).url, { options: { max_concurrent_calls: 1 } });
      while (!signal.aborted) {
        await Promise.all([call('narrow.slow', { ms: waitMs }), delay(2).then(() => call('narrow.echo'))]);
        for (let number = 0; number < 8 && !signal.aborted; number += 1) await call('narrow.echo');
      }
    },
  };
}

/** Fails so many checks, then passes one, again and again. */
function healthCheckFailing(where: 'warning' | 'critical', failures: number): Fault {
  return {
    alert: 'McpAggregatorHealthCheckFailing',
    severity: where,
    where,
    async make({ at, upstream }, { signal }) {
      const page = await startHealthPage();
      try {
        await at(where).register('checked', (await upstream('checked')).url, { health_check_url: page.url });
        while (!signal.aborted) {
          page.answer(500);
          const enough = page.asked + failures;
          while (page.asked < enough && !signal.aborted) await pause(20, signal);
          page.answer(200);
          const passed = page.asked + 1;
          while (page.asked < passed && !signal.aborted) await pause(20, signal);
        }
      } finally {
        page.close();
      }
    },
  };
}

/** A host that gives the process a quarter of the time it wants. */
async function starve(pid: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    process.kill(pid, 'SIGSTOP');
    await delay(450);
    process.kill(pid, 'SIGCONT');
    await pause(150, signal);
  }
}

async function untilClassified({ api }: ReturnType<Installations['at']>): Promise<void> {
  const deadline = performance.now() + 120_000;
  for (;;) {
    const { body } = await api('GET', '/aggregator/state');
    const { classifying_tools, indexing_tools, total_tools } = body as Record<string, number>;
    if (classifying_tools === 0 && indexing_tools === 0 && (total_tools ?? 0) > 0) return;
    if (performance.now() > deadline) throw new Error('the tools are not classified');
    await delay(100);
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined); // the fault is over
}
