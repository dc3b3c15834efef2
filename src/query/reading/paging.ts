/** The rest of a list: cursors, page numbers, offsets and "next" links, found in the answer. */
import { isObject } from '../../json-rpc.ts';
import type { Parameter } from '../strategy/parameters.ts';
import type { Operation } from '../strategy/strategy.ts';
import type { ParsedAnswer } from './answer.ts';
import type { Arguments } from './bind.ts';

/** Arguments for the page after this one, which held `size` things; undefined where there is none, or the tool cannot be asked for it. */
export function nextPage(
  operation: Operation,
  args: Arguments,
  answer: ParsedAnswer,
  size: number,
): Arguments | undefined {
  const parameter = (kind: string) => operation.parameters.find(({ role }) => role.kind === kind);
  const advised = advisedPage(operation, args, answer) ?? namedNext(operation, args, answer);
  if (advised !== undefined) return advised;
  const facts = pagingFacts(answer);
  const cursor = parameter('cursor');
  if (cursor !== undefined) {
    const next = facts.cursor ?? (facts.nextUrl === undefined ? undefined : queryValue(facts.nextUrl, cursor.name));
    return next === undefined || next === args[cursor.name] ? undefined : { ...args, [cursor.name]: next };
  }
  if (facts.hasMore === false) return undefined;
  const page = parameter('page');
  if (page !== undefined) {
    const current = Number(args[page.name] ?? page.default ?? facts.page ?? page.minimum ?? 1);
    const first = page.minimum === 0 || facts.page === 0 ? 0 : 1;
    const isLast = facts.pages !== undefined && current >= facts.pages - 1 + first;
    const isShort =
      facts.total !== undefined && facts.pages === undefined && size * (current + 1 - first) >= facts.total;
    if (isLast || isShort || (!facts.saysMore && facts.total === undefined && facts.pages === undefined))
      return undefined;
    const next = current + 1;
    return { ...args, [page.name]: page.type === 'string' ? String(next) : next };
  }
  const offset = parameter('offset');
  if (offset !== undefined && size > 0 && (facts.saysMore || facts.total !== undefined)) {
    const current = Number(args[offset.name] ?? offset.default ?? 0);
    const next = facts.nextOffset ?? current + size;
    return next <= current || (facts.total !== undefined && next >= facts.total)
      ? undefined
      : { ...args, [offset.name]: next };
  }
  return largerPage(operation, args, size);
}

/** "Call again with a start_index of 5000": the answer names the parameter and its next value. */
function advisedPage({ parameters }: Operation, args: Arguments, { parts }: ParsedAnswer): Arguments | undefined {
  const ends = parts.slice(-recordParts).map((part) => (part.kind === 'text' ? part.text.slice(-400) : ''));
  const tail = ends.join('\n');
  for (const parameter of parameters) {
    const { name, role, type } = parameter;
    if (role.kind !== 'offset' && role.kind !== 'page' && role.kind !== 'cursor') continue;
    const at = tail.lastIndexOf(name);
    if (at < 0 || !/\bmore\b|\bnext\b|\btruncated\b|\bcontinue\b/i.test(tail)) continue;
    const found = /^["'`]?\s*(of|=|:|to|is)?\s*(["'`])?([\w+/=-]{1,200})/.exec(tail.slice(at + name.length));
    const [, said = '', quoted, value = ''] = found ?? [];
    if (type === 'string') {
      // "Use the cursor to get more": a word of the sentence is no cursor.
      const isMeant = quoted !== undefined || /[=:]/.test(said) || /\d/.test(value);
      if (value !== '' && isMeant && !noCursor.test(value) && args[name] !== value) return { ...args, [name]: value };
    } else if (/^\d+$/.test(value) && Number(value) > currentPlace(parameter, args))
      return { ...args, [name]: Number(value) };
  }
  return undefined;
}

/** A note about the next page stands in one of the last blocks. */
const recordParts = 5;

/** "Page 1 of 3" says where we are. */
function currentPlace({ name, role, default: usual, minimum }: Parameter, args: Arguments): number {
  return Number(args[name] ?? usual ?? minimum ?? (role.kind === 'page' ? 1 : 0));
}

const noCursor = /^(?:none|null|undefined|end)$/i;

/** `next_range` of an answer is the `range` of the next call. */
function namedNext({ parameters }: Operation, args: Arguments, { parts }: ParsedAnswer): Arguments | undefined {
  for (const part of parts) {
    if (part.kind !== 'records') continue;
    for (const { name } of parameters) {
      const capital = `${name[0]?.toUpperCase()}${name.slice(1)}`;
      const next = part.envelope[`next_${name}`] ?? part.envelope[`next${capital}`];
      const isUsable = (typeof next === 'string' && next !== '') || typeof next === 'number';
      if (isUsable && next !== args[name]) return { ...args, [name]: next };
    }
  }
  return undefined;
}

const maxPage = 100;

/** As many as were asked for came back: there may be more of them. */
function largerPage({ parameters }: Operation, args: Arguments, size: number): Arguments | undefined {
  const limit = parameters.find(({ role }) => role.kind === 'limit');
  if (limit === undefined || limit.maximum !== undefined || args[limit.name] !== undefined) return undefined;
  const usual = typeof limit.default === 'number' ? limit.default : 10;
  if (size < usual || usual >= maxPage) return undefined;
  return { ...args, [limit.name]: limit.type === 'string' ? String(maxPage) : maxPage };
}

interface PagingFacts {
  cursor?: string;
  nextUrl?: string;
  nextOffset?: number;
  page?: number;
  pages?: number;
  total?: number;
  hasMore?: boolean;
  /** Something in the answer says that there is more. */
  saysMore: boolean;
}

const cursorKeys =
  /^(?:next_?)?(?:cursor|page_?token|token|continuation(?:_?token)?|marker)$|^next$|^offset$|^(?:end|after)_?cursor$/i;
const totalKeys = /^(?:total|total_?(?:count|results|items|records|hits|size)|count_?total|num_?found|hits_?total)$/i;
const pagesKeys = /^(?:pages|total_?pages|page_?count|last_?page|num_?pages)$/i;
const moreKeys = /^(?:has_?(?:more|next)(?:_?page)?|more|more_?available|is_?truncated|incomplete)$/i;
const lastKeys = /^(?:is_?last(?:_?page)?|done|is_?done|complete)$/i;

function pagingFacts({ parts }: ParsedAnswer): PagingFacts {
  const facts: PagingFacts = { saysMore: false };
  for (const part of parts) {
    if (part.kind === 'records') readEnvelope(facts, part.envelope, 0);
    else if (part.kind === 'text') readText(facts, part.text);
  }
  facts.saysMore ||=
    facts.cursor !== undefined ||
    facts.nextUrl !== undefined ||
    facts.hasMore === true ||
    facts.nextOffset !== undefined;
  return facts;
}

function readEnvelope(facts: PagingFacts, envelope: Record<string, unknown>, depth: number): void {
  for (const [key, value] of Object.entries(envelope)) {
    const plain = key.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();
    if (typeof value === 'string' && value !== '') {
      if (/^https?:/.test(value) && /next/.test(plain)) facts.nextUrl = value;
      else if (cursorKeys.test(plain) && value.length < 2_000) facts.cursor ??= value;
    } else if (typeof value === 'number') {
      if (totalKeys.test(plain)) facts.total = value;
      else if (pagesKeys.test(plain)) facts.pages = value;
      else if (/^(?:page|page_?number|current_?page)$/.test(plain)) facts.page = value;
      else if (/^next_?offset$/.test(plain)) facts.nextOffset = value;
      else if (/^next_?page$/.test(plain)) facts.hasMore = true;
    } else if (typeof value === 'boolean') {
      if (moreKeys.test(plain)) facts.hasMore = value;
      else if (lastKeys.test(plain)) facts.hasMore = !value;
    } else if (isObject(value) && depth < 2) readEnvelope(facts, value, depth + 1);
  }
}

/** Notes of this kind stand in the first or last lines. */
function readText(facts: PagingFacts, text: string): void {
  const edges = text.length > 1_200 ? `${text.slice(0, 600)}\n${text.slice(-600)}` : text;
  const cursor = /\b(?:next[ _-]?)?(?:cursor|page[ _-]?token)\b["'`]?\s*[:=]\s*["'`]?([\w+/=.:-]{1,500})/i.exec(
    edges,
  )?.[1];
  if (cursor !== undefined && !noCursor.test(cursor)) facts.cursor ??= cursor;
  const pages = /\bpage\s*:?\s*(\d{1,6})\s*(?:of|\/)\s*(\d{1,6})\b/i.exec(edges);
  if (pages !== null) Object.assign(facts, { page: Number(pages[1]), pages: Number(pages[2]) });
  const range = /\b\d{1,9}\s*(?:-|–|to)\s*(\d{1,9})\s+of\s+(\d{1,9})\b/i.exec(edges);
  if (range !== null) facts.total = Number(range[2]);
  const next = /\b(?:more|next)\b.{0,40}\boffset\s*[=:]\s*(\d{1,9})/i.exec(edges)?.[1];
  if (next !== undefined) facts.nextOffset = Number(next);
  const shown =
    /\b(?:showing|results?|items?|entries|records|rows)\s+(?:\d+\s*(?:-|–|to)\s*)?(\d+)\s+(?:of|out of)\s+(\d+)\b|\b(\d+)\s+of\s+(\d+)\s+(?:results?|items?|entries|records|rows|total|tickets|issues|messages)/i.exec(
      edges,
    );
  if (shown !== null) facts.total = Number(shown[2] ?? shown[4]);
  const total = /\btotal\b[^\d\n]{0,20}(\d{1,9})\b/i.exec(edges)?.[1];
  if (total !== undefined) facts.total ??= Number(total);
  if (
    /\bmore (?:results?|items?|entries|pages?|available|records|rows|tickets|messages)\b|\bnext page\b|\bhas[_ ]more["']?\s*[:=]\s*true/i.test(
      edges,
    )
  )
    facts.saysMore = true;
}

function queryValue(url: string, name: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { searchParams } = new URL(url);
  return (
    searchParams.get(name) ??
    searchParams.get('cursor') ??
    searchParams.get('page_token') ??
    searchParams.get('pageToken') ??
    undefined
  );
}

/** "total: 37" is the answer to "how many?". */
export function totalOf(answer: ParsedAnswer): number | undefined {
  return pagingFacts(answer).total;
}
