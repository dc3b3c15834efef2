/** Everything that reads what servers send, and how long it takes for a text. Shared by the test and the table. */
import assert from 'node:assert/strict';
import { parseEnv } from 'node:util';
import { createContext, Script } from 'node:vm';
import { matchesPattern } from '../../src/catalog/name-pattern.ts';
import { findStatefulTool } from '../../src/catalog/stateful-tools.ts';
import { classifyChange, scanDescription, scanTool } from '../../src/catalog/tool-changes.ts';
import { toWireName } from '../../src/catalog/tool-name.ts';
import { parseCommentedJson } from '../../src/commented-json.ts';
import { parseJson } from '../../src/exact-json.ts';
import { joinInstructions } from '../../src/mcp/server-instructions.ts';
import { matchesTemplate } from '../../src/mcp/uri-template.ts';
import { daysIn, findDates, mentionsDay } from '../../src/query/question/dates.ts';
import { analyseQuestion, wordsOf } from '../../src/query/question/question.ts';
import { createRelevanceMeter } from '../../src/query/question/relevance.ts';
import { correctSpelling } from '../../src/query/question/spelling.ts';
import { queryTerms } from '../../src/query/question/terms.ts';
import { findClockTime, findZones } from '../../src/query/question/zones.ts';
import { type ParsedAnswer, parseAnswer, parseContents } from '../../src/query/reading/answer.ts';
import { assessAnswer } from '../../src/query/reading/assess.ts';
import { entriesOf, titleOf } from '../../src/query/reading/entries.ts';
import { handleValues } from '../../src/query/reading/handles.ts';
import { jsonPrefix } from '../../src/query/reading/json-prefix.ts';
import { parsePythonLiteral } from '../../src/query/reading/literal.ts';
import { isNothingFound, skeletonOf } from '../../src/query/reading/nothing-found.ts';
import { nextPage, totalOf } from '../../src/query/reading/paging.ts';
import { errorText } from '../../src/query/reading/reading.ts';
import { groupRecords } from '../../src/query/reading/record-groups.ts';
import { fillUriTemplate } from '../../src/query/reading/resource-steps.ts';
import { groupByFile, sectionsOf } from '../../src/query/reading/sections.ts';
import { isSelect } from '../../src/query/reading/select-statement.ts';
import { tablesOf } from '../../src/query/reading/sql.ts';
import type { Step } from '../../src/query/reading/step.ts';
import { tableOf } from '../../src/query/reading/table.ts';
import { fillTemplate, fillTemplateForEachWord, keywords } from '../../src/query/reading/template.ts';
import { condense } from '../../src/query/results/condense.ts';
import { type Item, itemsOf, toItems } from '../../src/query/results/items.ts';
import { passagesOf } from '../../src/query/results/passages.ts';
import { withoutPointers } from '../../src/query/results/pointers.ts';
import { cutToTokens, rank, withinBudget } from '../../src/query/results/rank.ts';
import { blockText, printable, toPiece } from '../../src/query/results/records.ts';
import { packRows } from '../../src/query/results/rows.ts';
import { splitDocument, splitText } from '../../src/query/results/text-blocks.ts';
import { estimateTokens } from '../../src/query/results/tokens.ts';
import { findMismatch } from '../../src/query/schema-mismatch.ts';
import { readParameters, styleOf } from '../../src/query/strategy/parameters.ts';
import { judgeReadOnly, nameWords } from '../../src/query/strategy/read-only.ts';
import { toResource, toTemplate, workOutStrategy } from '../../src/query/strategy/strategy.ts';
import { parseClientConfig } from '../../src/registry/client-files.ts';
import { fromClientConfig } from '../../src/registry/import.ts';
import { createLexicalIndex, toLexicalQuery, toTerms } from '../../src/search/lexical.ts';
import { planRequest, withoutValues } from '../../src/search/request.ts';
import { toEmbeddingTexts } from '../../src/search/search-index.ts';
import { toParameters } from '../../src/search/tool.ts';
import { toWords } from '../../src/search/words.ts';
import { substituteVariables } from '../../src/security/variables.ts';
import { dedupe, normalise } from '../../src/similarity/dedupe.ts';
import { singular, stem } from '../../src/similarity/stem.ts';
import { scanWords } from '../../src/similarity/word-scanner.ts';
import { toFeatures } from '../../src/skills/tool-features.ts';
import { toToolToClassify } from '../../src/skills/tool-to-classify.ts';
import { suggest } from '../../src/suggestions.ts';
import { causeIn } from '../../src/upstream/start-failure.ts';
import { looksLikeMarkdown, toBlocks } from '../../web/src/parts/markdown-blocks.ts';
import { toInline } from '../../web/src/parts/markdown-inline.ts';
import { operationOf, questionOf } from '../query/reading/inputs.ts';
import { lexicon } from '../query/servers.ts';

export type Reader = (text: string) => unknown;

export const kilobyte = 1_024;
/** Shorter times are noise. */
export const floorMs = 4;
const timeoutMs = 10_000;

const question = questionOf('What did Ada Lovelace pay for the 3 March 2026 concert in INV-1007?');
const meter = createRelevanceMeter(question, lexicon);
const lists = operationOf('list_notes', { cursor: { type: 'string' }, path: { type: 'string' } }, { required: [] });
const reads = operationOf('get_note', { note_id: { type: 'string' }, path: { type: 'string' } });
const roomy = 8_000_000;
const source = { server: 'a', tool: 'b', timestamp: '2026-11-18T00:00:00Z' };

const answer = (text: string): ParsedAnswer => ({
  parts: [{ kind: 'text', text }],
  truncated: false,
  receivedChars: 0,
});
const item = (content: string, server = 'a'): Item & { relevance: number } => ({
  ...source,
  server,
  content,
  title: content.slice(0, 100),
  link: content.slice(100, 200),
  position: 0,
  relevance: 0.7,
});
const ranked = (content: string) => ({ item: item(content), sources: [item(content)], score: 0.5 });
const toolOf = (text: string) => ({
  name: 'get_note',
  title: text,
  description: text,
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: text, pattern: text },
      since: { type: 'string', description: text },
    },
    required: ['path'],
  },
});
const toolRow = (text: string) => ({
  id: 1,
  original_name: text,
  title: text,
  description: text,
  input_schema: { properties: { [text]: { type: text, enum: [text, text], description: text } }, required: [text] },
});
const serverRow = (text: string) => ({
  name: text,
  description: null,
  server_info: { title: text },
  instructions: text,
});
const searchable = (text: string) => ({
  id: 1,
  name: 'a.b',
  originalName: text,
  server: text,
  title: text,
  description: text,
  inputSchema: { properties: { [text]: { description: text } } },
  skillIds: [],
  primarySkillId: null,
  isExternal: true,
});
const step = (operation: typeof lists): Step => ({
  key: 'k',
  priority: 1,
  target: { kind: 'tool', operation, arguments: { query: 'concert fee' }, purpose: 'answer' },
  scope: {},
  context: 'concert',
  depth: 0,
  spelling: 0,
  others: [],
  titles: ['notes/a.md', 'b'],
  input: { text: 'What is the concert fee?', form: 'question' },
  isParsed: true,
  isAggregate: false,
  isPlanned: false,
});
const assess = (text: string, operation: typeof lists) => {
  const parsed = parseAnswer({ content: [{ type: 'text', text }] }, roomy);
  const work = assessAnswer({
    step: step(operation),
    answer: parsed,
    entries: entriesOf(parsed),
    source,
    question,
    meter,
    fit: 0.6,
    about: 'notes',
    limits: { maxChars: roomy, maxItems: 2_000 },
  });
  for (const _slice of work);
};
/** A refusal is an answer. */
const orFailure = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    return error;
  }
};
/** Where the text is JSON, the value; else a record that holds it everywhere. */
const asValue = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return { title: text, content: text, [text]: text, list: [text, { type: 'text', text }] };
  }
};
const nested = (text: string): unknown => [text, { name: text, children: [{ name: text }] }, { type: 'text', text }];

export const readers: Record<string, Reader> = {
  // results
  splitText,
  splitDocument,
  toItems: (text) => toItems({ content: [{ type: 'text', text }] }, source, { maxChars: roomy, maxItems: 400 }),
  'toItems, structured': (text) =>
    toItems({ structuredContent: asValue(text) }, source, { maxChars: roomy, maxItems: 400 }),
  'itemsOf a document': (text) => itemsOf(answer(text), source, { maxChars: roomy, maxItems: 2_000 }, true),
  passagesOf,
  toPiece: (text) => toPiece(asValue(text)),
  printable,
  blockText: (text) => blockText({ type: 'paragraph', content: [{ type: 'text', text }] }),
  packRows: (text) =>
    packRows(
      text
        .slice(0, roomy)
        .match(/.{1,300}/gs)
        ?.map((part) => item(part)) ?? [],
    ),
  withoutPointers: (text) => withoutPointers([item(text)], [item(text, 'b'), item(`${text} and more`, 'b')]),
  estimateTokens,
  cutToTokens: (text) => cutToTokens(text, 100),
  normalise,
  dedupe: (text) => dedupe([item(text), item(`${text} more`, 'b'), item(text, 'c'), item(`the ${text}`, 'd')]),
  condense: (text) => condense({ query: 'concert fee', results: [ranked(text), ranked(`${text}.`)] }),
  rank: (text) => rank({ query: 'concert fee', candidates: [ranked(text), ranked(`${text}.`)] }),
  withinBudget: (text) => withinBudget([ranked(text)], { maxResults: 10, maxTokens: 500 }),
  // reading
  parseAnswer: (text) => parseAnswer({ content: [{ type: 'text', text }] }, roomy),
  'parseAnswer, cut': (text) => parseAnswer({ content: [{ type: 'text', text }] }, Math.floor(text.length / 2)),
  parseContents: (text) => parseContents([{ uri: 'a://b', text }], roomy),
  entriesOf: (text) => entriesOf(answer(text)),
  'entriesOf records': (text) =>
    entriesOf({ ...answer(''), parts: [{ kind: 'records', ...groupRecords(asValue(text)) }] }),
  titleOf: (text) => entriesOf(answer(text)).map(titleOf),
  handleValues: (text) => {
    const [parameter] = reads.parameters;
    assert.ok(parameter !== undefined);
    const entry = { fields: { id: text, path: text, url: text, full_name: text, [text]: text }, label: text, noun: '' };
    const flags = { isFolder: false, isDetailed: false, isTelling: false };
    return handleValues(parameter, reads, question, { scope: {}, folders: [], entry: { ...entry, ...flags } });
  },
  jsonPrefix: (text) => jsonPrefix(text, roomy),
  parsePythonLiteral,
  tableOf,
  groupByFile: (text) => groupByFile(answer(text)),
  sectionsOf: (text) => sectionsOf(answer(text), ['notes/a.md', 'b']),
  groupRecords: (text) => groupRecords(asValue(text)),
  isNothingFound: (text) => isNothingFound(answer(text), 'concert'),
  'isNothingFound, records': (text) =>
    isNothingFound({ ...answer(''), parts: [{ kind: 'records', ...groupRecords(nested(text)) }] }, 'concert'),
  skeletonOf: (text) => skeletonOf(answer(text), 'concert'),
  nextPage: (text) => nextPage(lists, {}, answer(text), 10),
  totalOf: (text) => totalOf(answer(text)),
  errorText: (text) => errorText({ content: [{ type: 'text', text }] }),
  fillUriTemplate: (text) => fillUriTemplate(text, { a: 'x' }),
  fillTemplate: (text) => fillTemplate({ a: text, b: [text] }, { query: 'concert fee' }),
  fillTemplateForEachWord: (text) => fillTemplateForEachWord({ a: text }, { query: text }),
  keywords,
  isSelect,
  tablesOf: (text) => tablesOf(entriesOf(answer(text))),
  'assessAnswer of a list': (text) => assess(text, lists),
  'assessAnswer of a document': (text) => assess(text, reads),
  // question
  findDates: (text) => findDates(text, new Date(0)),
  daysIn: (text) => mentionsDay(daysIn(text), [{ from: '2026-03-03', to: '2026-03-04' }]),
  findZones,
  findClockTime,
  'queryTerms.countIn': (text) => queryTerms('concert fee').countIn(text),
  queryTerms: (text) => queryTerms(text),
  wordsOf,
  scanWords,
  'meter.measure': (text) => meter.judge(meter.measure(text, meter.toContext(text))),
  analyseQuestion: (text) => analyseQuestion(text, lexicon),
  correctSpelling: (text) => correctSpelling(text.slice(0, 2_000), new Set(['where']), lexicon),
  // definitions
  scanDescription,
  scanTool: (text) => scanTool(toolOf(text)),
  classifyChange: (text) => classifyChange(toolOf(text), toolOf(`${text}.`)),
  toWireName: (text) => toWireName('server', text),
  matchesTemplate: (text) => [matchesTemplate(text, text), matchesTemplate('a://{+b}', text)],
  nameWords: (text) => nameWords(text.slice(1)),
  judgeReadOnly: (text) => judgeReadOnly({ name: text, title: text, description: text }),
  readParameters: (text) => readParameters(toolOf(text).inputSchema, { said: text, namesFolders: false }),
  workOutStrategy: (text) =>
    workOutStrategy({
      tools: [toolOf(text), { name: text }],
      resources: [toResource({ uri: text, name: text, description: text })],
      templates: [toTemplate({ uriTemplate: text, name: text })],
    }),
  singular,
  styleOf,
  findMismatch: (text) => findMismatch({ enum: [text], pattern: text }, text),
  toWords,
  stem,
  toTerms,
  toEmbeddingTexts: (text) => toEmbeddingTexts(searchable(text)),
  'lexical index': (text) => {
    const index = createLexicalIndex();
    index.add(0, searchable(text));
    const scores = new Float32Array(index.capacity);
    index.score(toLexicalQuery(text), { lexical: 1, covered: 1, named: 1 }, scores);
    return index.explain(toLexicalQuery(text), searchable(text));
  },
  embedText: (text) => lexicon.embedText(text),
  'toFeatures of a tool to classify': (text) =>
    toFeatures(toToolToClassify(toolRow(text), serverRow(text)), lexicon.embedText),
  toParameters: (text) => toParameters(searchable(text).inputSchema),
  planRequest: (text) => planRequest(text, () => true),
  withoutValues,
  findStatefulTool: (text) => findStatefulTool([{ name: text, description: text }]),
  joinInstructions: (text) =>
    joinInstructions([
      { name: 'a', instructions: text },
      { name: 'b', instructions: text },
    ]),
  suggest: (text) => suggest(text, [text, `${text}.`, 'get_note']),
  matchesPattern: (text) => matchesPattern(`*${text.slice(0, 255)}*`, text),
  causeIn: (text) => causeIn((text.match(/.{1,500}/gs) ?? []).slice(-40)),
  // files of clients
  parseCommentedJson: (text) => orFailure(() => parseCommentedJson(text)),
  'parseClientConfig of TOML': (text) => orFailure(() => parseClientConfig(text, 'config.toml')),
  fromClientConfig: (text) => fromClientConfig(asValue(text)),
  'fromClientConfig, values': (text) =>
    fromClientConfig({
      inputs: [{ id: text, description: text }],
      mcpServers: { [text]: { command: text, args: [text], env: { A: text, B: `\${input:${text}` } } },
      registry: { a: { image: text, command: [text] } },
    }),
  substituteVariables: (text) => substituteVariables({ a: text, b: `\${command:${text}` }, () => undefined),
  parseEnv,
  'exact-json': (text) => parseJson(JSON.stringify(text)),
  // dashboard
  looksLikeMarkdown,
  toBlocks,
  toInline,
};

const running = { work: (): unknown => undefined };
const script = new Script('running.work()');
const context = createContext({ running });

/** Undefined where it was not done in time: it is ended then, so that a failing reader fails and does not hang. */
export async function timeOf(read: Reader, text: string): Promise<number | undefined> {
  running.work = () => read(text);
  const before = process.threadCpuUsage();
  try {
    await script.runInContext(context, { timeout: timeoutMs });
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
    // A refusal is an answer.
    if (!/nested more than/.test(String(error))) throw error;
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
