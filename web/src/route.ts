/** Routing by the fragment after "#", so that the aggregator serves a single page. Everything a page shows has an address. */
import { useCallback, useEffect, useSyncExternalStore } from 'react';

export interface Place {
  /** The decoded parts of the path: `#/servers/github` is `['servers', 'github']`. */
  parts: string[];
  query: URLSearchParams;
}

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('hashchange', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('hashchange', listener);
  };
}

const currentHash = () => window.location.hash;

export function usePlace(): Place {
  return toPlace(useSyncExternalStore(subscribe, currentHash));
}

function toPlace(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  return { parts: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // invalid encoding, typed manually; shown as not found
  }
}

export function linkTo(...parts: string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

export function goTo(...parts: string[]): void {
  window.location.hash = linkTo(...parts);
}

export type Parameters = Record<string, string | undefined>;

/** This page with other parameters; an empty one is left out. */
export function linkWith(changed: Parameters): string {
  const { parts, query } = toPlace(currentHash());
  for (const [name, value] of Object.entries(changed)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return text === '' ? linkTo(...parts) : `${linkTo(...parts)}?${text}`;
}

/** A step that Back takes back, such as an opened panel. */
export function pushParameters(changed: Parameters): void {
  window.history.pushState(null, '', linkWith(changed));
  for (const listener of listeners) listener();
}

/** What is typed: kept in the address, not a step of its own for Back. */
export function replaceParameters(changed: Parameters): void {
  window.history.replaceState(window.history.state, '', linkWith(changed));
  for (const listener of listeners) listener();
}

/** A state of the page that lives in its address: a filter, a tab, an order. */
export function useParameter(name: string, initial = ''): [string, (value: string) => void] {
  const value = usePlace().query.get(name) ?? initial;
  const set = useCallback(
    (next: string) => replaceParameters({ [name]: next === initial ? undefined : next }),
    [name, initial],
  );
  return [value, set];
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · mcp-aggregator`;
  }, [title]);
}
