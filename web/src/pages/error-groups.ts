/** Errors that are the same: one tool, one outcome, one code. Pure. */
export interface CallOutcome {
  call_id: string;
  server: string;
  tool: string;
  outcome: string;
  error_code: string | null;
  client: string | null;
  principal: string;
  at: string;
}

export interface ErrorGroup {
  key: string;
  server: string;
  tool: string;
  outcome: string;
  code: string | null;
  calls: number;
  /** Who called, each once. */
  clients: readonly string[];
  last: CallOutcome;
}

export const isError = ({ outcome }: CallOutcome) => outcome !== 'ok' && outcome !== 'cancelled';

/** Calls come newest first, so the first of a group is its last. */
export function groupErrors(calls: readonly CallOutcome[]): ErrorGroup[] {
  const groups = new Map<string, ErrorGroup>();
  for (const call of calls.filter(isError)) {
    const { server, tool, outcome, error_code: code } = call;
    const key = JSON.stringify([tool, outcome, code]);
    const client = `${call.client ?? 'REST API'} · ${call.principal}`;
    const known = groups.get(key);
    if (known === undefined) {
      groups.set(key, { key, server, tool, outcome, code, calls: 1, clients: [client], last: call });
    } else {
      const clients = known.clients.includes(client) ? known.clients : [...known.clients, client];
      groups.set(key, { ...known, calls: known.calls + 1, clients });
    }
  }
  return [...groups.values()].sort((a, b) => b.calls - a.calls);
}
