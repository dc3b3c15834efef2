/** Alerts by the thresholds of MON-002. Pure. */
import type { Activity, Server } from './api.ts';
import { count } from './words.ts';

export interface Alert {
  level: 'warn' | 'bad';
  title: string;
  explanation: string;
}

export interface Facts {
  servers: readonly Server[];
  activity: Activity | undefined;
  classified: number;
  tools: number;
  routingP95Ms: number | undefined;
}

export function findAlerts({ servers, activity, classified, tools, routingP95Ms }: Facts): Alert[] {
  return [
    ...connected(servers),
    ...checks(activity),
    ...over('Routing is slow', routingP95Ms, { warn: 75, bad: 100 }, (value) => ({
      explanation: `p95 routing overhead is ${Math.round(value)} ms (warning from 75 ms, critical from 100 ms). Check the load of the host.`,
    })),
    ...over(
      'Tools not classified',
      tools === 0 ? undefined : (1 - classified / tools) * 100,
      { warn: 20, bad: 50 },
      () => ({
        explanation: `${count(tools - classified, 'tool')} of ${tools} are not sorted into categories (skills) yet, so search ranks them lower.`,
      }),
    ),
  ];
}

function connected(servers: readonly Server[]): Alert[] {
  const wanted = servers.filter(({ status }) => status !== 'DISCONNECTED' && status !== 'DISCONNECTING');
  const up = wanted.filter(({ status }) => status === 'CONNECTED' || status === 'DEGRADED').length;
  const down = wanted.filter(({ status }) => status === 'ERROR').map(({ name }) => name);
  if (down.length === 0) return [];
  if (up / wanted.length >= 0.8) {
    return [
      {
        level: 'warn',
        title: `Not reachable: ${down.join(', ')}`,
        explanation: 'See the page of the server for the cause. Retrying automatically.',
      },
    ];
  }
  const share = Math.round((up / wanted.length) * 100);
  return [
    {
      level: up / wanted.length < 0.5 ? 'bad' : 'warn',
      title: `Only ${share} % of the servers are connected`,
      explanation: `Not reachable: ${down.join(', ')}. Below 80 % is a warning, below 50 % critical.`,
    },
  ];
}

function checks(activity: Activity | undefined): Alert[] {
  return (activity?.servers ?? []).flatMap(({ name, consecutive_failures: failures }): Alert[] =>
    failures < 2
      ? []
      : [
          {
            level: failures >= 3 ? 'bad' : 'warn',
            title: `${name} failed ${failures} health checks in a row`,
            explanation: 'After three failures the server is marked as not reachable and reconnected.',
          },
        ],
  );
}

function over(
  title: string,
  value: number | undefined,
  limit: { warn: number; bad: number },
  more: (value: number) => Pick<Alert, 'explanation'>,
): Alert[] {
  if (value === undefined || value <= limit.warn) return [];
  return [{ level: value > limit.bad ? 'bad' : 'warn', title, ...more(value) }];
}
