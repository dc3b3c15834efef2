/** How long a server may take to start: counted from its last sign of life, and not for ever. */
interface StartTimeout {
  readonly signal: AbortSignal;
  restart(): void;
  clear(): void;
}

/** A server that prints without end and never answers is given up in the end. */
const maxRestarts = 20;

export function createStartTimeout(ms: number): StartTimeout {
  const controller = new AbortController();
  const latest = performance.now() + ms * maxRestarts;
  const expire = () => controller.abort(new DOMException('The server took too long to start', 'TimeoutError'));
  let timer: NodeJS.Timeout | undefined = setTimeout(expire, ms).unref();
  return {
    signal: controller.signal,
    restart() {
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = setTimeout(expire, Math.min(ms, Math.max(0, latest - performance.now()))).unref();
    },
    clear() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
