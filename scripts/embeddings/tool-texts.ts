import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { toWords } from '../../src/search/words.ts';

/** One tool definition as the training sees it. Only definitions are read here, never a set of requests. */
export interface ToolText {
  server: string;
  serverText: string;
  category: string;
  name: string;
  description: string;
  parameters: string;
}

interface CorpusLine {
  server: string;
  name: string;
  title?: string;
  description?: string;
  input_schema?: { properties?: Record<string, { description?: unknown }> };
  category?: string;
  server_description?: string;
}

export function readCorpus(path: string): ToolText[] {
  const bytes = readFileSync(path);
  const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => toToolText(JSON.parse(line) as CorpusLine));
}

function toToolText(line: CorpusLine): ToolText {
  return {
    server: line.server,
    serverText: clean(`${line.server} ${line.server_description ?? ''}`).slice(0, 400),
    category: clean((line.category ?? '').replaceAll(/[-_]/g, ' ')),
    name: spaced(line.title ?? line.name),
    description: clean(line.description ?? ''),
    parameters: Object.entries(line.input_schema?.properties ?? {})
      .slice(0, 12)
      .map(([name, schema]) => {
        const description = typeof schema?.description === 'string' ? clean(schema.description).slice(0, 120) : '';
        return `${spaced(name)} ${description}`.trim();
      })
      .join(', '),
  };
}

export function spaced(identifier: string): string {
  return toWords(identifier)
    .flatMap(({ whole, parts }) => (parts.length > 0 ? parts : [whole]))
    .join(' ');
}

/** Markdown, tags and links are noise to a mean of token vectors. */
export function clean(text: string): string {
  return text
    .replaceAll(/<[^>]{1,200}>/g, ' ')
    .replaceAll(/\]\([^)]*\)/g, ' ')
    .replaceAll(/https?:\/\/\S+/g, ' ')
    .replaceAll(/[*`#|]+/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

export function firstSentence(text: string): { first: string; rest: string } {
  const end = /[.!?](?=\s+[\p{Lu}"'(])|\n/u.exec(text);
  return end === null
    ? { first: text, rest: '' }
    : { first: text.slice(0, end.index + 1), rest: text.slice(end.index + 1).trim() };
}

// How people wrap a wish in words. General English, written without looking at any set of requests: it teaches the
// table that these words carry no meaning of their own.
const wrappers: [string, string][] = [
  ['', ''],
  ['please ', ''],
  ['can you ', '?'],
  ['could you please ', ' for me?'],
  ['I want to ', '.'],
  ['I need to ', ', how do I do that?'],
  ['help me ', ''],
  ['I would like you to ', ' as soon as possible.'],
  ['is there a way to ', '?'],
  ['how can I ', '?'],
  ["I'm looking for something that can ", '.'],
  ['what is the best way to ', '? thanks'],
  ['hey, I am trying to ', ', any suggestions?'],
  ['we have to ', ' today, let me know what you find'],
  ['do you know how to ', '?'],
  ['my friend asked me to ', ' but I have no idea where to start.'],
];

export function asRequest(sentence: string, seed: number): string {
  const [before, after] = wrappers[seed % wrappers.length] ?? ['', ''];
  const plain = sentence.replace(/[.!]$/, '');
  return `${before}${plain.slice(0, 1).toLowerCase()}${plain.slice(1)}${after}`;
}
