/**
 * Cancellation of calls. Creating an AbortSignal and listening to it costs a relayed call a tenth of its time in Node,
 * so calls carry this object, and an AbortSignal is created only where an API needs one.
 */

/** Either kind; both have the same interface. */
export type CancelSignal = Cancellation | AbortSignal;

export class Cancellation {
  aborted = false;
  reason: Error | undefined;
  #listeners: (() => void)[] = [];
  #controller: AbortController | undefined;

  /** Only the first call has an effect. */
  abort(reason: Error | undefined): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners.splice(0)) listener();
  }

  addEventListener(_type: 'abort', listener: () => void, _options: { once: true }): void {
    if (!this.aborted) this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at !== -1) this.#listeners.splice(at, 1);
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.aborted) this.#controller.abort(this.reason);
    return this.#controller.signal;
  }
}

/** For APIs that require an AbortSignal. */
export const toAbortSignal = (signal: CancelSignal): AbortSignal =>
  signal instanceof Cancellation ? signal.signal : signal;

/** The same object where it is one; otherwise a new one that follows the signal until `unfollow` is called. */
export function toCancellation(signal: CancelSignal): { cancellation: Cancellation; unfollow?: () => void } {
  if (signal instanceof Cancellation) return { cancellation: signal };
  const cancellation = new Cancellation();
  const follow = () => cancellation.abort(signal.reason);
  if (signal.aborted) follow();
  signal.addEventListener('abort', follow, { once: true });
  return { cancellation, unfollow: () => signal.removeEventListener('abort', follow) };
}
