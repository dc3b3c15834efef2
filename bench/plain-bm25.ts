import { toTerms } from '../src/search/lexical.ts';
import { type SearchableTool, toParameters } from '../src/search/tool.ts';
import { toWords } from '../src/search/words.ts';

export interface PlainBm25 {
  search(query: string, limit: number): { id: number; score: number }[];
}

/** What goes into the one field, and how it is split. */
export interface Field {
  textOf(tool: SearchableTool): string;
  toTerms(text: string): string[];
}

const saturation = 1.2;
const lengthPenalty = 0.75;

/** By the textbook: name and description, words as they are written. */
export const plainField: Field = {
  textOf: ({ originalName, description }) => `${originalName} ${description}`,
  toTerms: (text) => toWords(text).flatMap(({ whole, parts }) => (parts.length > 0 ? parts : [whole])),
};

/** As the README of the request sets measures its floor: parameter names too, and light stemming. */
export const stemmedField: Field = {
  textOf: (tool) => [plainField.textOf(tool), ...toParameters(tool.inputSchema).map(({ name }) => name)].join(' '),
  toTerms,
};

/** Robertson's formula over one field, every tool in one list; it shares nothing with the index but the splitting. */
export function createPlainBm25(tools: readonly SearchableTool[], { textOf, toTerms }: Field): PlainBm25 {
  const postings = new Map<string, Map<number, number>>();
  const lengths = new Map<number, number>();
  for (const tool of tools) {
    const terms = toTerms(textOf(tool));
    lengths.set(tool.id, terms.length);
    for (const term of terms) {
      const counts = postings.get(term) ?? new Map<number, number>();
      counts.set(tool.id, (counts.get(tool.id) ?? 0) + 1);
      postings.set(term, counts);
    }
  }
  const average = [...lengths.values()].reduce((sum, length) => sum + length, 0) / Math.max(1, tools.length);

  return {
    search(query, limit) {
      const scores = new Map<number, number>();
      for (const term of toTerms(query)) {
        const counts = postings.get(term);
        if (counts === undefined) continue;
        const idf = Math.log(1 + (tools.length - counts.size + 0.5) / (counts.size + 0.5));
        for (const [id, count] of counts) {
          const norm = saturation * (1 - lengthPenalty + (lengthPenalty * (lengths.get(id) ?? 0)) / average);
          scores.set(id, (scores.get(id) ?? 0) + (idf * count * (saturation + 1)) / (count + norm));
        }
      }
      return [...scores]
        .map(([id, score]) => ({ id, score }))
        .sort((a, b) => b.score - a.score || a.id - b.id)
        .slice(0, limit);
    },
  };
}
