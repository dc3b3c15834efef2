import type { ToolAnswer } from '../src/query/reading/answer.ts';
import { random } from '../test/query/random.ts';
import type { Document } from './query-collection.ts';

/** A stand-in for a server with a search of its own: BM25 with its own settings, and its own way of writing answers. */
export interface SearchServer {
  name: string;
  documents: readonly Document[];
  search(query: string): Document[];
  answer(query: string): ToolAnswer;
}

interface Settings {
  saturation: number;
  lengthShare: number;
  results: number;
  format: keyof typeof formats;
}

const formats = {
  structured: (found: Document[]): ToolAnswer => ({
    structuredContent: { total: found.length, results: found.map(asRecord) },
    content: [{ type: 'text', text: JSON.stringify({ total: found.length, results: found.map(asRecord) }, null, 2) }],
  }),
  json: (found: Document[]): ToolAnswer => text(JSON.stringify(found.map(asRecord), null, 2)),
  lines: (found: Document[]): ToolAnswer =>
    text(found.map((document) => JSON.stringify(asRecord(document))).join('\n')),
  markdown: (found: Document[]): ToolAnswer =>
    text(
      found
        .map(({ id, title, content }) => `## ${title}\n${content}\n\n[source](https://docs.example/${id})`)
        .join('\n\n'),
    ),
  rules: (found: Document[]): ToolAnswer =>
    text(
      found
        .map(
          ({ id, title, content }) =>
            `Title: ${title}\nSource: https://docs.example/${id}\n${content.replaceAll('\n\n', '\n')}`,
        )
        .join('\n----------\n'),
    ),
};

export function makeServer(name: string, documents: readonly Document[], settings: Settings): SearchServer {
  const indexed = documents.map((document) => ({
    document,
    counts: countsOf(wordsOf(`${document.title} ${document.content}`)),
  }));
  const average = indexed.reduce((sum, { counts }) => sum + counts.words, 0) / indexed.length;
  const search = (query: string): Document[] => {
    const terms = [...new Set(wordsOf(query))];
    const scores = new Map<Document, number>();
    for (const term of terms) {
      const uses = indexed.map(({ counts }) => counts.byWord.get(term) ?? 0);
      const having = uses.filter((count) => count > 0).length;
      const idf = Math.log(1 + (indexed.length - having + 0.5) / (having + 0.5));
      indexed.forEach(({ document, counts }, i) => {
        const count = uses[i] ?? 0;
        if (count === 0) return;
        const length = 1 - settings.lengthShare + (settings.lengthShare * counts.words) / average;
        const score = (idf * count * (settings.saturation + 1)) / (count + settings.saturation * length);
        scores.set(document, (scores.get(document) ?? 0) + score);
      });
    }
    return [...scores]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, settings.results)
      .map(([document]) => document);
  };
  return { name, documents, search, answer: (query) => formats[settings.format](search(query)) };
}

/** Every document on one server, a third also on a second one, half of those slightly edited. */
export function splitOverServers(documents: readonly Document[]): SearchServer[] {
  const next = random(5);
  const parts: Document[][] = [[], [], [], [], []];
  for (const document of documents) {
    const home = Math.floor(next() * 5);
    parts[home]?.push(document);
    if (next() >= 1 / 3) continue;
    const copy =
      next() < 0.5
        ? document
        : {
            ...document,
            content: document.content
              .replace('Most teams', 'Many teams')
              .replaceAll('. ', '.  ')
              .concat('\nLast updated this week.'),
          };
    parts[(home + 1 + Math.floor(next() * 4)) % 5]?.push(copy);
  }
  const settings: Settings[] = [
    { saturation: 1.2, lengthShare: 0.75, results: 20, format: 'structured' },
    { saturation: 1.5, lengthShare: 0.5, results: 20, format: 'json' },
    { saturation: 0.9, lengthShare: 0.75, results: 20, format: 'lines' },
    { saturation: 1.2, lengthShare: 0.3, results: 20, format: 'markdown' },
    { saturation: 2, lengthShare: 0.75, results: 20, format: 'rules' },
  ];
  return parts.map((part, i) =>
    makeServer(
      `server-${i + 1}`,
      part,
      settings[i] ?? { saturation: 1.2, lengthShare: 0.75, results: 20, format: 'json' },
    ),
  );
}

function asRecord({ id, title, content }: Document): object {
  return { id, title, url: `https://docs.example/${id}`, content, score: null };
}

function text(value: string): ToolAnswer {
  return { content: [{ type: 'text', text: value }] };
}

function wordsOf(value: string): string[] {
  return value.toLowerCase().match(/[a-z0-9]+/g) ?? [];
}

function countsOf(words: string[]): { byWord: Map<string, number>; words: number } {
  const byWord = new Map<string, number>();
  for (const word of words) byWord.set(word, (byWord.get(word) ?? 0) + 1);
  return { byWord, words: words.length };
}
