/** A request that the user started: running, failed with a reason, or done. */
import { useCallback, useRef, useState } from 'react';
import { ApiError, messageOf } from '../api.ts';

export interface Action {
  running: boolean;
  error: ApiError | undefined;
  run(task: (signal: AbortSignal) => Promise<unknown>): Promise<void>;
  cancel(): void;
  clear(): void;
}

export function useAction(): Action {
  const [running, setRunning] = useState(false);
  const [error, setError] = useState<ApiError>();
  const controller = useRef<AbortController | undefined>(undefined);

  const run = useCallback(async (task: (signal: AbortSignal) => Promise<unknown>) => {
    const own = new AbortController();
    controller.current = own;
    setRunning(true);
    setError(undefined);
    try {
      await task(own.signal);
    } catch (failure) {
      if (!own.signal.aborted) {
        setError(failure instanceof ApiError ? failure : new ApiError(0, 'UNKNOWN', messageOf(failure)));
      }
    } finally {
      setRunning(false);
    }
  }, []);

  return {
    running,
    error,
    run,
    cancel: () => controller.current?.abort(),
    clear: () => setError(undefined),
  };
}
