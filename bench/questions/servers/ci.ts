/** Builds and deployments: readers without parameters, no annotations, key: value blocks and aligned tables. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { createSampler, start, text, writes } from './stand-in.ts';

const sampler = createSampler(41);

/** Readers without parameters: name, description, answer. */
const plain: [string, string, string][] = [
  [
    'get_build_status',
    'State of the latest build of every pipeline.',
    `pipeline: portal\nbuild: 5127\nresult: passed\nduration: 11m 42s\n
pipeline: ingest\nbuild: 2290\nresult: failed\nstep: contract-tests\nreason: schema of readings.v4 lacks the field "quality"\n
pipeline: firmware-heron\nbuild: 884\nresult: passed\nduration: 24m 08s\n
pipeline: firmware-wren\nbuild: 1391\nresult: running\nstep: flash-test-bench\n
pipeline: mobile-app\nbuild: 640\nresult: passed\nduration: 17m 20s`,
  ],
  [
    'get_oncall',
    'Who is on call now, and how to reach them.',
    'primary: Idris Vaughan, pager 0171\nsecondary: Lotte Brandsma, pager 0188\nuntil: Monday 08:00 UTC\nescalation: Maren Holt',
  ],
  [
    'get_deploy_freeze',
    'Whether deployments are frozen, and why.',
    'frozen: yes\nfrom: 2026-11-13 16:00\nuntil: 2026-11-23 06:00\nreason: move of the message broker to the Falkenberg data centre\nexceptions: ask Samir Haddad',
  ],
  [
    'get_coverage',
    'Test coverage of every repository.',
    'portal        81.4 %\ningest        88.9 %\nalarms        74.6 %\nmobile-app    59.2 %\nfirmware      66.0 %',
  ],
  [
    'list_flaky_tests',
    'Tests that failed and passed on the same commit during the last 14 days.',
    'test                              failures  owner\nupload resumes after sleep              17  ravi\nmap clusters at zoom level 9            12  chiara\nalarm reaches second recipient           9  samir\nlogin with expired key card              4  felix',
  ],
  [
    'list_runners',
    'Build runners and their state.',
    [
      'runner          arch    state    disk free',
      ...Array.from({ length: 24 }, (_, at) => {
        const arch = at < 14 ? 'x64' : 'arm64';
        const name = `runner-${arch}-${String(at < 14 ? at + 1 : at - 13).padStart(2, '0')}`;
        const state = [5, 16, 20].includes(at) ? 'offline' : 'online';
        return `${name.padEnd(16)}${arch.padEnd(8)}${state.padEnd(9)}${sampler.between(20, 400)} GB`;
      }),
    ].join('\n'),
  ],
  [
    'get_environments',
    'Versions that run in every environment.',
    'staging:\n  portal: 5.9.0-rc3\n  ingest: 4.2.0\n  alarms: 2.17.1\nproduction:\n  portal: 5.8.1\n  ingest: 4.1.6\n  alarms: 2.16.9',
  ],
];

const services = ['portal', 'ingest', 'alarms', 'billing', 'search'] as const;
const deployers = ['samir', 'idris', 'ravi', 'lotte'] as const;
const deployments = Array.from({ length: 110 }, (_, at) => {
  const day = new Date(Date.UTC(2026, 0, 5) + at * 2.8 * 86_400_000).toISOString().slice(0, 10);
  const service = sampler.pick(services);
  const version = `${2 + services.indexOf(service)}.${Math.floor(at / 6)}.${at % 6}`;
  const result = sampler.between(0, 9) === 0 ? 'rolled back' : 'ok';
  return { day, line: `${day}  ${service}  ${version}  ${result}  by ${sampler.pick(deployers)}` };
});

const server = new McpServer({ name: 'forge-ci', version: '1.0.0' });
for (const [name, description, answer] of plain) server.registerTool(name, { description }, () => text(answer));
server.registerTool(
  'list_deployments',
  {
    description: 'Deployments to production between two days.',
    inputSchema: {
      since: z.string().describe('First day, YYYY-MM-DD'),
      until: z.string().describe('Last day, YYYY-MM-DD'),
    },
  },
  ({ since, until }) => {
    const lines = deployments.filter(({ day }) => day >= since && day <= until).map(({ line }) => line);
    return text(lines.join('\n') || 'No deployments in this period.');
  },
);

const build = z.number().int();
writes(server, 'trigger_build', 'Start a build.', { pipeline: z.string() });
writes(server, 'cancel_build', 'Cancel a running build.', { build });
writes(server, 'retry_job', 'Run a failed job again.', { build, job: z.string() });
writes(server, 'rollback_deploy', 'Roll production back to the version before.', { service: z.string() });
writes(server, 'drain_runner', 'Take a runner out of service.', { runner: z.string() });
writes(server, 'clear_cache', 'Clear the build cache.');
writes(server, 'rotate_oncall', 'Hand the pager to the next person.');
writes(server, 'lift_freeze', 'End the deployment freeze.');

await start(server);
