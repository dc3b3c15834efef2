import { isObject } from '../../json-rpc.ts';
import { stopWords } from '../../similarity/stop-words.ts';

interface TemplateValues {
  query: string;
  id?: string;
  word?: string;
}

/** Replaces `{{query}}`, `{{keywords}}`, `{{word}}` and `{{id}}` in every string of a template, however deep. */
export function fillTemplate(template: Record<string, unknown>, values: TemplateValues): Record<string, unknown> {
  const words: Record<string, string | undefined> = { ...values, keywords: keywords(values.query) };
  const fill = (value: unknown): unknown => {
    if (typeof value === 'string')
      return value.replace(/\{\{\s*(query|keywords|word|id)\s*\}\}/g, (whole, name) => words[name] ?? whole);
    if (Array.isArray(value)) return value.map(fill);
    if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fill(inner)]));
    return value;
  };
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, fill(value)]));
}

const maxWords = 4;

/** One filling, or with `{{word}}` in the template one for each of the longest keywords. */
export function fillTemplateForEachWord(
  template: Record<string, unknown>,
  values: TemplateValues,
): Record<string, unknown>[] {
  if (!/\{\{\s*word\s*\}\}/.test(JSON.stringify(template))) return [fillTemplate(template, values)];
  const words = [...new Set(keywords(values.query).split(/\s+/))].toSorted((a, b) => b.length - a.length);
  return words.slice(0, maxWords).map((word) => fillTemplate(template, { ...values, word }));
}

const maxKeywords = 8;

/** The words that carry the query; all of it when there are none. */
export function keywords(query: string): string {
  const words = query.match(/[\p{L}\p{N}][\p{L}\p{N}.+#_-]{0,5000}/gu) ?? [];
  const carrying = words.filter((word) => !stopWords.has(word.toLowerCase())).slice(0, maxKeywords);
  return carrying.length > 0 ? carrying.map((word) => word.replace(/[.]+$/, '')).join(' ') : query;
}
