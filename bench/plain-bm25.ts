import { toTerms } from '../src/search/lexical.ts';
import { toParameters } from '../src/search/tool.ts';
import { toWords } from '../src/search/words.ts';
import { stopWords } from '../src/similarity/stop-words.ts';
import type { SetTool } from './search-sets.ts';

/** What goes into the one field, and how it is split. */
export interface Field {
  name: string;
  textOf(tool: SetTool): string;
  toTerms(text: string): string[];
}

export interface Bm25Parameters {
  saturation: number;
  lengthPenalty: number;
}

export interface PlainBm25 {
  search(query: string, limit: number, parameters: Bm25Parameters): { id: number; score: number }[];
}

export const textbook: Bm25Parameters = { saturation: 1.2, lengthPenalty: 0.75 };

const asWritten = (text: string) => toWords(text).flatMap(({ whole, parts }) => (parts.length > 0 ? parts : [whole]));
const withoutStopWords = (text: string) =>
  toTerms(
    asWritten(text)
      .filter((word) => !stopWords.has(word))
      .join(' '),
  );
const nameAndDescription = ({ originalName, description }: SetTool) => `${originalName} ${description}`;
const withParameters = (tool: SetTool) =>
  [nameAndDescription(tool), tool.title, ...toParameters(tool.inputSchema).map(({ name }) => name)].join(' ');

/** By the textbook: name and description, words as they are written. */
export const plainField: Field = { name: 'plain', textOf: nameAndDescription, toTerms: asWritten };

/** What a careful engineer would try; the floor is the best of them. */
export const fields: Field[] = [
  plainField,
  { name: 'plain, parameters', textOf: withParameters, toTerms: asWritten },
  { name: 'stemmed', textOf: nameAndDescription, toTerms },
  { name: 'stemmed, parameters', textOf: withParameters, toTerms },
  { name: 'stemmed without stop words, parameters', textOf: withParameters, toTerms: withoutStopWords },
  {
    name: 'stemmed, parameters, server name',
    textOf: (tool) => `${withParameters(tool)} ${tool.server}`,
    toTerms,
  },
  {
    name: 'stemmed, parameters, server text',
    textOf: (tool) => `${withParameters(tool)} ${tool.server} ${tool.serverText ?? ''}`,
    toTerms,
  },
];

interface Postings {
  tools: number[];
  counts: number[];
}

/** Robertson's formula over one field, every tool in one list; it shares nothing with the index but the splitting. */
export function createPlainBm25(tools: readonly SetTool[], { textOf, toTerms }: Field): PlainBm25 {
  const postings = new Map<string, Postings>();
  const lengths = tools.map((tool, place) => {
    const terms = toTerms(textOf(tool));
    for (const term of terms) {
      const list = postings.get(term) ?? { tools: [], counts: [] };
      postings.set(term, list);
      if (list.tools.at(-1) === place) list.counts.push((list.counts.pop() ?? 0) + 1);
      else {
        list.tools.push(place);
        list.counts.push(1);
      }
    }
    return terms.length;
  });
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, tools.length);

  return {
    search(query, limit, { saturation, lengthPenalty }) {
      const scores = new Float64Array(tools.length);
      for (const term of toTerms(query)) {
        const list = postings.get(term);
        if (list === undefined) continue;
        const idf = Math.log(1 + (tools.length - list.tools.length + 0.5) / (list.tools.length + 0.5));
        for (const [entry, place] of list.tools.entries()) {
          const count = list.counts[entry] ?? 0;
          const norm = saturation * (1 - lengthPenalty + (lengthPenalty * (lengths[place] ?? 0)) / average);
          scores[place] = (scores[place] ?? 0) + (idf * count * (saturation + 1)) / (count + norm);
        }
      }
      const found = [...scores.keys()].filter((place) => (scores[place] ?? 0) > 0);
      return found
        .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)
        .slice(0, limit)
        .map((place) => ({ id: tools[place]?.id ?? 0, score: scores[place] ?? 0 }));
    },
  };
}
