/** States and numbers in plain words. */
import type { Server, Status } from './api.ts';

export const statusWords: Record<Status, string> = {
  CONNECTED: 'Connected',
  DEGRADED: 'Degraded',
  CONNECTING: 'Connecting',
  DISCONNECTED: 'Disconnected',
  DISCONNECTING: 'Disconnecting',
  ERROR: 'Not reachable',
};

export const statusTone: Record<Status, 'good' | 'warn' | 'bad' | 'busy' | 'off'> = {
  CONNECTED: 'good',
  DEGRADED: 'warn',
  CONNECTING: 'busy',
  DISCONNECTED: 'off',
  DISCONNECTING: 'busy',
  ERROR: 'bad',
};

export interface Explanation {
  reason: string;
  advice: string;
}

/** The reason for the status of a server and the next step; undefined if it is healthy. */
export function explain(
  server: Pick<Server, 'status' | 'error_message' | 'transport_type' | 'login'>,
): Explanation | undefined {
  const { status, error_message: error, login } = server;
  if (login !== null && login !== undefined) {
    const reason = login === 'required' ? 'Login required.' : 'The login has expired.';
    return { reason, advice: 'Log in to use the server. Its tools stay listed.' };
  }
  switch (status) {
    case 'CONNECTED':
      return error === null ? undefined : { reason: error, advice: 'Could not list its tools. Refresh to try again.' };
    case 'DEGRADED':
      return {
        reason: error ?? 'Its last health checks failed.',
        advice: 'Calls are still sent. The server recovers with the next successful check.',
      };
    case 'CONNECTING':
      return { reason: 'Connecting.', advice: 'This takes a few seconds.' };
    case 'DISCONNECTING':
      return { reason: 'Waiting for running calls.', advice: 'The server disconnects within 30 seconds.' };
    case 'DISCONNECTED':
      return { reason: 'The server was disconnected or never connected.', advice: 'Connect it to use its tools.' };
    case 'ERROR':
      return { reason: error ?? 'The connection failed.', advice: adviceFor(error ?? '', server.transport_type) };
  }
}

const advices: [RegExp, string][] = [
  [/host not found|DNS lookup|ENOTFOUND|EAI_AGAIN|getaddrinfo/i, 'The host name is unknown: correct the address.'],
  [/ENOENT|not found|no such file/i, 'Check the command.'],
  [/not set in the aggregator/i, 'Set the variables in the environment of the aggregator.'],
  [/EACCES|permission/i, 'The user of the aggregator must be allowed to run the program: check its permissions.'],
  [
    /401|403|unauthori[sz]ed|forbidden|login|log in|token/i,
    'The server needs other credentials: edit its headers or log in.',
  ],
  [/ECONNREFUSED|refused/i, 'Start the server, or correct its address.'],
  [/certificate|TLS|SSL/i, 'The aggregator does not trust the certificate of the server.'],
  [/time[d]? ?out|timeout/i, 'The server did not respond in time: check its output, or raise its timeout.'],
  [/exited|terminated/i, 'The program exited: see the last output on the page of the server.'],
];

function adviceFor(error: string, transport: Server['transport_type']): string {
  const known = advices.find(([pattern]) => pattern.test(error))?.[1];
  const own = known ?? (transport === 'STDIO' ? 'See its last output.' : 'Check its address and headers.');
  return `${own} Retrying automatically.`;
}

export const outcomeWords: Record<string, string> = {
  ok: 'ok',
  tool_error: 'tool error',
  rpc_error: 'server error',
  unavailable: 'not available',
  overloaded: 'too busy',
  held: 'held for review',
  timeout: 'too late',
  cancelled: 'cancelled',
  failed: 'failed',
  running: 'running',
};

export function outcomeTone(outcome: string): 'good' | 'warn' | 'bad' | 'busy' | 'off' {
  if (outcome === 'ok') return 'good';
  if (outcome === 'running') return 'busy';
  if (outcome === 'tool_error') return 'warn';
  return outcome === 'cancelled' ? 'off' : 'bad';
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en-US')} ${number === 1 ? one : many}`;
}

export function duration(ms: number): string {
  if (ms < 1) return '<1 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

export function bytes(size: number): string {
  return size < 1_048_576 ? `${Math.round(size / 1_024)} KB` : `${Math.round(size / 1_048_576)} MB`;
}

const steps: [number, Intl.RelativeTimeFormatUnit][] = [
  [60, 'second'],
  [60, 'minute'],
  [24, 'hour'],
  [365, 'day'],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

export function ago(time: string, now = Date.now()): string {
  let amount = (Date.parse(time) - now) / 1_000;
  for (const [size, unit] of steps) {
    if (Math.abs(amount) < size)
      return unit === 'second' && amount > -5 ? 'just now' : relative.format(Math.round(amount), unit);
    amount /= size;
  }
  return new Date(time).toLocaleDateString();
}

export function clock(time: string): string {
  return new Date(time).toLocaleTimeString([], {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });
}

export const riskWords: Record<string, string> = {
  instructions: 'new instructions to models',
  required_parameter: 'new required parameter',
  changed_parameter: 'changed parameter',
  removed_parameter: 'removed parameter',
  annotations: 'changed annotations',
  output: 'changed output',
  optional_parameter: 'new optional parameter',
  text: 'changed text',
  other: 'other change',
};

/** Such a change can make a model do something else. */
export const isGrave = (risk: string) => ['instructions', 'required_parameter', 'changed_parameter'].includes(risk);
