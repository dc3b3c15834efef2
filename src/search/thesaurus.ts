/** Words that mean nearly the same, by stem. Read from a file with the first question. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { stem } from '../similarity/stem.ts';

export interface Thesaurus {
  /** Stems of words that can stand for this one, given by its stem. */
  synonymsOf(stemmed: string): ReadonlySet<string>;
  /** Is it a word as it is spelt? */
  knows(word: string): boolean;
}

const none: ReadonlySet<string> = new Set();

interface Synonyms {
  words: ReadonlySet<string>;
  byStem: ReadonlyMap<string, ReadonlySet<string>>;
}

export function createThesaurus(file: URL = new URL('../../assets/synonyms.txt.gz', import.meta.url)): Thesaurus {
  let synonyms: Synonyms | undefined;
  const read = (): Synonyms => {
    synonyms ??= readSynonyms(file);
    return synonyms;
  };
  return {
    synonymsOf: (stemmed) => read().byStem.get(stemmed) ?? none,
    knows: (word) => read().words.has(word),
  };
}

function readSynonyms(file: URL): Synonyms {
  const words = new Set<string>();
  const byStem = new Map<string, Set<string>>();
  const add = (a: string, b: string): void => {
    const known = byStem.get(a) ?? new Set();
    byStem.set(a, known.add(b));
  };
  for (const line of gunzipSync(readFileSync(file)).toString('utf8').split('\n')) {
    const entry = line.split(' ');
    for (const word of entry) words.add(word);
    const [head = '', ...others] = entry.map(stem);
    for (const other of others) {
      add(head, other);
      add(other, head);
    }
  }
  return { words, byStem };
}
