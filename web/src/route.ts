/** Routing by the fragment after "#", so that the aggregator serves a single page. */
import { useSyncExternalStore } from 'react';

export interface Place {
  /** The decoded parts of the path: `#/servers/github` is `['servers', 'github']`. */
  parts: string[];
  query: URLSearchParams;
}

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener);
  return () => window.removeEventListener('hashchange', listener);
}

export function usePlace(): Place {
  return toPlace(useSyncExternalStore(subscribe, () => window.location.hash));
}

export function toPlace(hash: string): Place {
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
