import { useSyncExternalStore } from 'react';

const query = window.matchMedia('(max-width: 46rem)');

function subscribe(listener: () => void): () => void {
  query.addEventListener('change', listener);
  return () => query.removeEventListener('change', listener);
}

/** The window is as narrow as a phone. */
export const useNarrow = () => useSyncExternalStore(subscribe, () => query.matches);
