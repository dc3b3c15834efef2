/** Which parts of an answer answer the question. Pure: an answer and what led to it in, items with their chance out. */
import type { Question } from '../question/question.ts';
import { answers, type RelevanceMeter, type Said } from '../question/relevance.ts';
import { eachItem, type Item, type ItemLimits, type RelevantItem } from '../results/items.ts';
import { packRows } from '../results/rows.ts';
import { nameWords } from '../strategy/read-only.ts';
import type { ParsedAnswer } from './answer.ts';
import type { Entry } from './entries.ts';
import { totalOf } from './paging.ts';
import { groupByFile, sectionsOf } from './sections.ts';
import { fittingTool, type Step } from './step.ts';

interface AssessInput {
  step: Step;
  answer: ParsedAnswer;
  entries: readonly Entry[];
  source: Omit<Item, 'content' | 'position'>;
  question: Question;
  meter: RelevanceMeter;
  /** How well the tool fits the question, 0 to 1. */
  fit: number;
  /** The server's own names. */
  about: string;
  limits: ItemLimits;
}

interface Assessed {
  items: RelevantItem[];
  /** Of the whole answer, before those that do not answer were left out. */
  rawItems: number;
  truncated: boolean;
}

/** Items with less are kept only where something better is there, too. */
const keptFrom = 0.7 * answers;

/** Yields where it may be interrupted: an answer can be long. */
export function* assessAnswer(input: AssessInput): Generator<void, Assessed> {
  const { step, answer, entries, source, about, limits } = input;
  const isNames = isTree(step, entries);
  const items: RelevantItem[] = [];
  const rows: string[] = [];
  let { truncated } = answer;
  const noun = step.target.kind === 'tool' ? step.target.operation.noun : '';
  for (const { part, title } of sectionsOf(groupByFile(answer), step.titles)) {
    const contexts = toContexts(input, `${step.context} ${title ?? ''} ${noun} ${about}`);
    const found = eachItem(part, source, limits, isDocument(step));
    let next = found.next();
    for (; !next.done; next = found.next()) {
      yield;
      const item = next.value;
      const position = rows.push(item.content) - 1;
      if (isNames || isEcho(item.content, step) || isHeading(item.content)) continue;
      const relevance = relevanceOf(input, item, contexts);
      if (relevance >= keptFrom) items.push({ ...withTitle(item, title, step), position, relevance });
    }
    truncated ||= next.value;
  }
  return { items: asOneAnswer(input, items, rows), rawItems: rows.length, truncated };
}

/**
 * Where the question asks for the very list ("Which tables are there?"), or narrowed the call itself ("next week"), rows
 * that fit equally well are the answer together.
 */
function asOneAnswer(input: AssessInput, items: readonly RelevantItem[], rows: readonly string[]): RelevantItem[] {
  const whole = wholeList(input, rows);
  if (whole === undefined) return input.step.isParsed ? packRows(items) : [...items];
  return [whole, ...items.filter(({ relevance }) => relevance > whole.relevance)];
}

export const isDocument = ({ target }: Step): boolean =>
  target.kind === 'resource' || (target.kind === 'tool' && target.operation.kind === 'read');

/** Names of files and folders tell where to look; they answer nothing. */
function isTree({ target }: Step, entries: readonly Entry[]): boolean {
  if (target.kind !== 'tool' || target.operation.kind === 'read' || entries.length === 0) return false;
  return entries.every(({ isFolder, fields, label }) => {
    const isPath = fields.path !== undefined && fields.line === undefined && label.length < 300;
    return isFolder || isPath || /^\S.*\.[A-Za-z0-9]{1,6}$/.test(String(fields[''] ?? ''));
  });
}

/** What counting and adding up gains over the rows that were counted. */
const aggregateLift = 0.2;
const aggregateCoverage = 0.6;
const rowCoverage = 0.6;
const strayShare = 0.85;

interface Contexts {
  known: Said;
  /** With what the tool says of itself: what a tool that fits the question reports is about what the tool is about. */
  asked?: Said;
}

function toContexts({ step, meter, fit }: AssessInput, known: string): Contexts {
  if (step.target.kind !== 'tool') return { known: meter.toContext(known) };
  const { kind, about } = step.target.operation;
  const isAsked = kind !== 'read' && kind !== 'search' && (fit >= fittingTool || step.isParsed);
  return { known: meter.toContext(known), ...(isAsked ? { asked: meter.toContext(`${known} ${about}`) } : {}) };
}

function relevanceOf({ step, meter, fit }: AssessInput, item: Item, { known, asked }: Contexts): number {
  const content = withoutEcho(item.content, step.input?.text);
  const text = `${item.title ?? ''}\n${content}`;
  const measured = meter.measure(text, known);
  const isSql = step.target.kind === 'tool' && step.target.operation.kind === 'sql';
  // Rows are found by any word of the question: those that hold few of them are about something else.
  const isStray = isSql && measured.coverage < rowCoverage;
  const share = isQuestion(item.content) ? questionShare : isStray ? strayShare : 1;
  // A sum over something else than what was asked for is no answer.
  const lift = step.isAggregate && measured.coverage >= aggregateCoverage ? aggregateLift : 0;
  const own = meter.judge(measured) * share + lift;
  if (step.isPlanned) return Math.min(1, Math.max(own, plannedRelevance));
  if (asked === undefined) return Math.min(1, own);
  const isReport = step.target.kind === 'tool' && step.target.operation.kind === 'report' && fit >= certainFit;
  return Math.min(
    1,
    Math.max(own, meter.judge(meter.measure(text, asked)), isReport ? answers + (1 - answers) * fit : 0),
  );
}

/** A model chose the call for this question: its answer counts even where no word of the question is repeated. */
const plannedRelevance = 0.75;
const certainFit = 0.5;
const maxEcho = 300;

/** `context: Thornby Quay`: nothing but what the call was given. */
function isEcho(content: string, { target }: Step): boolean {
  if (target.kind !== 'tool' || content.length > maxEcho) return false;
  let rest = content.toLowerCase();
  for (const value of Object.values(target.arguments))
    if (typeof value === 'string') rest = rest.replaceAll(value.toLowerCase(), ' ');
  return rest.length < content.length && !/[\p{L}\p{N}]{2}/u.test(rest.replace(/^[\w ]{1,40}:/gm, ' '));
}

/** "Found 6 messages matching KDM:" announces what follows. */
const isHeading = (content: string): boolean => content.length < 200 && /^[^\n]*:\s*$/.test(content);

const minEchoWords = 4;

/** A text that repeats a question word by word says nothing by that. */
function withoutEcho(content: string, input: string | undefined): string {
  if (input === undefined || input.split(' ', minEchoWords).length < minEchoWords) return content;
  const at = content.toLowerCase().indexOf(input.toLowerCase());
  return at < 0 ? content : `${content.slice(0, at)} ${content.slice(at + input.length)}`;
}

const questionShare = 0.7;
const maxQuestion = 400;

/** Somebody else's question is not an answer, unless the answer stands below it. */
function isQuestion(content: string): boolean {
  if (content.length > maxQuestion) return false;
  return /\?\s*(?:\n|$)/.test(content.split('\n', 2).join('\n')) && !/^\W*a(?:nswer)?\b.{0,3}:/im.test(content);
}

function withTitle(item: Item, title: string | undefined, { titles }: Step): Item {
  const named = title ?? (titles.length === 1 ? titles[0] : undefined);
  if (named === undefined) return item;
  const isSection = item.title !== undefined && item.title !== named && !named.includes(item.title);
  const link = item.link ?? (/[/:]/.test(named) ? named : undefined);
  return { ...item, title: isSection ? `${named} › ${item.title}` : named, ...(link === undefined ? {} : { link }) };
}

const wholeChars = 3_000;

/** The list itself, where its tool fits the question. */
function wholeList(input: AssessInput, rows: readonly string[]): RelevantItem | undefined {
  const { step, answer, source, question, meter, fit, about: server } = input;
  if (step.target.kind !== 'tool' || fit < fittingTool || rows.length < 2) return undefined;
  const { kind, tool, about } = step.target.operation;
  if (kind === 'read' || kind === 'sql') return undefined;
  const count = question.wants.has('count') ? `total: ${totalOf(answer) ?? rows.length}\n` : '';
  const content = `${count}${rows.map((row) => row.replaceAll('\n', ', ')).join('\n')}`;
  if (content.length > wholeChars) return undefined;
  const judged = meter.judge(meter.measure(content, meter.toContext(`${step.context} ${server} ${about}`)));
  const relevance = Math.min(1, Math.max(judged, fit >= certainFit ? answers + (1 - answers) * fit : 0));
  const title = nameWords(tool).join(' ');
  return relevance < answers ? undefined : { content, title, ...source, position: 0, relevance };
}
