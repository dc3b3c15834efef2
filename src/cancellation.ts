/**
 * Whether a call is still wanted. The platform's AbortSignal says the same, but making one and listening to it costs a
 * relayed call a tenth of its time in Node. So calls carry one of these, and a signal is made for whoever needs one.
 */

/** Either kind: both are asked and heard in the same way. */
export type CancelSignal = Cancellation | AbortSignal;

export class Cancellation {
  aborted = false;
  reason: Error | undefined;
  #listeners: (() => void)[] = [];
  #controller: AbortController | undefined;

  /** Once; what is said later changes nothing. */
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

/** For what takes nothing but the platform's own. */
export const toAbortSignal = (signal: CancelSignal): AbortSignal =>
  signal instanceof Cancellation ? signal.signal : signal;
