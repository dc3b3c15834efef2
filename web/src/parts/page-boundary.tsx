/**
 * The code of a page is loaded when the page is opened. Where that fails, because the aggregator is away or was upgraded
 * meanwhile, the page says so and loads again as soon as the aggregator responds.
 */
import { Component, type ReactNode } from 'react';
import { ApiError } from '../api.ts';
import { Failure } from './notice.tsx';

const retryMs = 2_000;
/** A page that fails right after it was loaded again is not helped by another time. */
const minBetweenReloadsMs = 15_000;
const reloadedAt = 'mcp-aggregator.reloaded-at';

/** In the words of the browsers and of Vite. */
const loadFailure = /preload|dynamically imported module|importing a module script/i;

interface BoundaryState {
  error?: ApiError;
}

export class PageBoundary extends Component<{ children: ReactNode }, BoundaryState> {
  override state: BoundaryState = {};
  #timer: number | undefined;

  static getDerivedStateFromError(error: unknown): BoundaryState {
    const isLoadFailure = loadFailure.test(String(error));
    const message = isLoadFailure ? 'The page could not be loaded.' : `The page cannot be shown: ${error}`;
    return { error: new ApiError(isLoadFailure ? 0 : 500, 'PAGE_FAILED', message) };
  }

  override componentDidCatch(error: unknown): void {
    const last = Number(sessionStorage.getItem(reloadedAt) ?? 0);
    if (loadFailure.test(String(error)) && Date.now() - last > minBetweenReloadsMs) this.#reloadWhenBack();
  }

  override componentWillUnmount(): void {
    window.clearTimeout(this.#timer);
  }

  #reloadWhenBack(): void {
    this.#timer = window.setTimeout(async () => {
      const isBack = await fetch('/livez').then(
        ({ ok }) => ok,
        () => false,
      );
      if (!isBack) return this.#reloadWhenBack();
      sessionStorage.setItem(reloadedAt, String(Date.now()));
      window.location.reload();
    }, retryMs);
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return <Failure error={this.state.error} retry={() => window.location.reload()} />;
  }
}
