/** The running and the latest calls, read incrementally: each request asks for what ended since the one before. */
import { type AnswerOf, api } from './api.ts';
import { type Resource, useAnswer } from './resource.ts';

type CallList = AnswerOf<'getAggregatorCalls'>;
export type RunningCall = CallList['running'][number];
export type EndedCall = CallList['recent'][number];

const maxKept = 1_000;
const pageSize = 1_000;
const callsPath = '/api/v1/aggregator/calls';

export function useCalls(): Resource<CallList> {
  return useAnswer<CallList>(
    [callsPath],
    async (signal, before) => {
      const after = before?.next ?? 0;
      const read = await api<CallList>('GET', `${callsPath}?after=${after}&limit=${pageSize}`, undefined, signal);
      // Fewer than before: the aggregator was restarted and counts from the beginning.
      if (before === undefined || read.next < after) return read;
      return { ...read, recent: [...read.recent, ...before.recent].slice(0, maxKept) };
    },
    { on: ['call.started', 'call.finished'], gather: 500, everyMs: 10_000 },
  );
}

export const cancelCall = (id: string) => api('DELETE', `${callsPath}/${encodeURIComponent(id)}`);

/** Without the name of its server, which is said beside it. */
export function toolOf({ tool, server }: Pick<RunningCall, 'tool' | 'server'>): string {
  return tool.startsWith(`${server}.`) ? tool.slice(server.length + 1) : tool;
}
