import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A meaning in WordNet: the words for it and its definition with examples. `field` numbers the subject. */
export interface Gloss {
  field: number;
  words: string;
  gloss: string;
}

// Species and substances: long lists of names nobody asks a tool for.
const skippedFields = new Set([5, 20, 27]);

export function readGlosses(folder: string): Gloss[] {
  return ['noun', 'verb', 'adj', 'adv'].flatMap((part) =>
    readFileSync(join(folder, `data.${part}`), 'utf8')
      .split('\n')
      .filter((line) => /^\d/.test(line))
      .map(toGloss)
      .filter(({ field, words, gloss }) => !skippedFields.has(field) && !/[A-Z]/.test(words) && gloss.length > 15),
  );
}

function toGloss(line: string): Gloss {
  const [head = '', gloss = ''] = line.split(' | ');
  const columns = head.split(' ');
  const count = Number.parseInt(columns[3] ?? '0', 16);
  const words = Array.from({ length: count }, (_, index) => (columns[4 + index * 2] ?? '').replaceAll('_', ' '));
  return { field: Number(columns[1]), words: words.join(', '), gloss: gloss.trim().slice(0, 300) };
}
