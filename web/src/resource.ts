/** The response of a GET, requested again when an event reports a change. */
import { useCallback, useEffect, useRef, useState } from 'react';
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

export interface ResourceOptions {
  on?: readonly EventName[];
  /** Only these of the events. */
  when?: (event: LiveEvent) => boolean;
  gather?: number;
}

/** A path of `null` asks nothing. */
export function useResource<Answer>(path: string | null, options: ResourceOptions = {}): Resource<Answer> {
  const [answer, setAnswer] = useState<{ path: string; data?: Answer; error?: ApiError }>();
  const [asked, setAsked] = useState(0);
  const reload = useCallback(() => setAsked((count) => count + 1), []);
  const latest = useRef(options);
  latest.current = options;

  // biome-ignore lint/correctness/useExhaustiveDependencies: "asked" counts the requests for a reload
  useEffect(() => {
    if (path === null) return;
    const gone = new AbortController();
    api<Answer>('GET', path, undefined, gone.signal).then(
      (data) => setAnswer({ path, data }),
      (error: unknown) => {
        if (gone.signal.aborted) return;
        const problem = error instanceof ApiError ? error : new ApiError(0, 'UNKNOWN', messageOf(error));
        setAnswer((before) => ({ path, data: before?.path === path ? before.data : undefined, error: problem }));
      },
    );
    return () => gone.abort();
  }, [path, asked]);

  useEffect(() => {
    let timer: number | undefined;
    const later = () => {
      timer ??= window.setTimeout(() => {
        timer = undefined;
        reload();
      }, latest.current.gather ?? gatherMs);
    };
    const offs = [
      onLive((name, event) => {
        const { on = [], when = () => true } = latest.current;
        if (on.includes(name) && when(event)) later();
      }),
      onReturn(later),
    ];
    return () => {
      window.clearTimeout(timer);
      for (const off of offs) off();
    };
  }, [reload]);

  const current = answer?.path === path ? answer : undefined;
  return { data: current?.data, error: current?.error, loading: path !== null && current === undefined, reload };
}

export const serverEvents: readonly EventName[] = [
  'server.registered',
  'server.updated',
  'server.removed',
  'server.status',
  'server.discovered',
];
