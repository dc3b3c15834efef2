/** Words that mean nearly the same, by stem. Read from a file with the first question. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip, gunzipSync } from 'node:zlib';
import { stem } from '../similarity/stem.ts';
import { createTimeSlice, inSlices } from '../time-slice.ts';

export interface Thesaurus {
  /** In slices of time; what is asked before is read at once. */
  load(): Promise<void>;
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
  let loading: Promise<void> | undefined;
  const read = (): Synonyms => {
    synonyms ??= atOnce(readSynonyms(gunzipSync(readFileSync(file))));
    return synonyms;
  };
  async function load(): Promise<void> {
    const bytes = await promisify(gunzip)(await readFile(file));
    const found = await inSlices(readSynonyms(bytes), createTimeSlice());
    synonyms ??= found;
  }
  return {
    async load() {
      if (synonyms !== undefined) return;
      loading ??= load().finally(() => {
        loading = undefined;
      });
      await loading;
    },
    synonymsOf: (stemmed) => read().byStem.get(stemmed) ?? none,
    knows: (word) => read().words.has(word),
  };
}

/** Yields where other work may have a turn. */
function* readSynonyms(bytes: Buffer): Generator<void, Synonyms> {
  const words = new Set<string>();
  const byStem = new Map<string, Set<string>>();
  const add = (a: string, b: string): void => {
    const known = byStem.get(a) ?? new Set();
    byStem.set(a, known.add(b));
  };
  for (const line of bytes.toString('utf8').split('\n')) {
    const entry = line.split(' ');
    for (const word of entry) words.add(word);
    const [head = '', ...others] = entry.map(stem);
    for (const other of others) {
      add(head, other);
      add(other, head);
    }
    yield;
  }
  return { words, byStem };
}

function atOnce<T>(work: Iterator<void, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
