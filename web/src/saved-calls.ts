/** Calls that the user saved under a name, in this browser. */
import { useSyncExternalStore } from 'react';
import type { Json } from './api.ts';
import type { CallTarget } from './playground-calls.ts';
import { isObject, readJson } from './schema.ts';

export interface SavedCall {
  title: string;
  kind: CallTarget['kind'];
  server: string;
  name: string;
  args: Json;
}

const key = 'saved-calls';
const maxSaved = 100;
const maxBytes = 64_000;
const listeners = new Set<() => void>();
let known: { text: string | null; calls: readonly SavedCall[] } = { text: null, calls: [] };

function isSaved(value: unknown): value is SavedCall {
  return (
    isObject(value) &&
    ['title', 'kind', 'server', 'name'].every((part) => typeof value[part] === 'string') &&
    isObject(value.args)
  );
}

function read(): readonly SavedCall[] {
  const text = localStorage.getItem(key);
  if (text === known.text) return known.calls;
  const stored = text === null ? undefined : readJson(text)?.value;
  known = { text, calls: Array.isArray(stored) ? stored.filter(isSaved) : [] };
  return known.calls;
}

function write(calls: readonly SavedCall[]): void {
  localStorage.setItem(key, JSON.stringify(calls));
  for (const listener of listeners) listener();
}

const isSame = (a: SavedCall, b: SavedCall) =>
  a.kind === b.kind && a.server === b.server && a.name === b.name && a.title === b.title;

export const isTooLarge = (args: Json) => JSON.stringify(args).length > maxBytes;

/** One of the same title is replaced. */
export function saveCall(call: SavedCall): void {
  write([call, ...read().filter((other) => !isSame(other, call))].slice(0, maxSaved));
}

export function deleteSavedCall(call: SavedCall): void {
  write(read().filter((other) => !isSame(other, call)));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', listener);
  };
}

export function useSavedCalls(): readonly SavedCall[] {
  return useSyncExternalStore(subscribe, read);
}
