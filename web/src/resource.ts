/** The answers of GET, kept while one moves between pages, and requested again when an event reports a change. */
import { QueryClient, useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { ApiError, api, messageOf } from './api.ts';
import { type EventName, type LiveEvent, onLive, onReturn } from './live.ts';

export interface Resource<Answer> {
  data: Answer | undefined;
  error: ApiError | undefined;
  loading: boolean;
  reload(): void;
}

/** Events come in bursts; one request covers all of them. */
const gatherMs = 150;

interface RefreshOptions {
  on?: readonly EventName[];
  /** Only these of the events. */
  when?: (event: LiveEvent) => boolean;
  gather?: number;
}

export interface ResourceOptions extends RefreshOptions {
  /** Also without an event, as long as the page is seen: for what changes with time. */
  everyMs?: number;
}

export const resources = new QueryClient({
  // A host without a network still has its own aggregator.
  defaultOptions: { queries: { retry: false, networkMode: 'always', gcTime: 600_000 } },
});
onReturn(() => void resources.invalidateQueries());

/** A path of `null` asks nothing. */
export function useResource<Answer>(path: string | null, options: ResourceOptions = {}): Resource<Answer> {
  return useAnswer<Answer>(
    path === null ? null : [path],
    (signal) => api('GET', path ?? '', undefined, signal),
    options,
  );
}

/** For what needs more than one GET to read; the key names what is read. */
export function useAnswer<Answer>(
  key: readonly string[] | null,
  read: (signal: AbortSignal, before: Answer | undefined) => Promise<Answer>,
  { everyMs, ...events }: ResourceOptions = {},
): Resource<Answer> {
  const queryKey = key ?? ['nothing'];
  const { data, error, isPending, refetch } = useQuery<Answer>({
    queryKey,
    queryFn: ({ signal }) => read(signal, resources.getQueryData<Answer>(queryKey)),
    enabled: key !== null,
    refetchInterval: everyMs ?? false,
  });
  const reload = () => void refetch({ cancelRefetch: true });
  useRefresh(events, () => refetch({ cancelRefetch: false }));
  return { data, error: toApiError(error), loading: key !== null && isPending, reload };
}

function toApiError(error: Error | null): ApiError | undefined {
  if (error === null) return undefined;
  return error instanceof ApiError ? error : new ApiError(0, 'UNKNOWN', messageOf(error));
}

/**
 * Calls `refresh` soon after an event, never twice at the same time, and once more for what happened meanwhile. A page in
 * the background reads again when it is seen.
 */
function useRefresh(options: RefreshOptions, refresh: () => Promise<unknown>): void {
  const latest = useRef({ options, refresh });
  latest.current = { options, refresh };
  useEffect(() => {
    let timer: number | undefined;
    let isRunning = false;
    let isDue = false;
    let isGone = false;
    const start = () => {
      timer ??= window.setTimeout(run, latest.current.options.gather ?? gatherMs);
    };
    const run = async () => {
      isRunning = true;
      await latest.current.refresh();
      isRunning = false;
      timer = undefined;
      if (isDue && !isGone) start();
      isDue = false;
    };
    const off = onLive((name, event) => {
      const { on = [], when = () => true } = latest.current.options;
      if (!on.includes(name) || !when(event) || document.hidden) return;
      if (isRunning) isDue = true;
      else start();
    });
    return () => {
      isGone = true;
      window.clearTimeout(timer);
      off();
    };
  }, []);
}

export const serverEvents: readonly EventName[] = [
  'server.registered',
  'server.updated',
  'server.removed',
  'server.status',
  'server.discovered',
];
