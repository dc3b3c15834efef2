/** The optional parts of the API that this aggregator has, so that missing ones are not requested. */
import { useEffect, useState } from 'react';
import { api } from './api.ts';

let paths: Promise<ReadonlySet<string>> | undefined;

function loadPaths(): Promise<ReadonlySet<string>> {
  paths ??= api<{ paths: Record<string, unknown> }>('GET', '/openapi.json').then(
    (document) => new Set(Object.keys(document.paths)),
  );
  return paths;
}

/** undefined while it is not known. */
export function useHas(path: string): boolean | undefined {
  const [has, setHas] = useState<boolean>();
  useEffect(() => {
    loadPaths().then(
      (known) => setHas(known.has(path)),
      () => setHas(false),
    );
  }, [path]);
  return has;
}
