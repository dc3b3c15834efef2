import type { TextPiece } from './text-blocks.ts';

/**
 * Which parts of a JSON value are the results: the elements of an array, or the arrays of objects inside an envelope
 * (`{total, items: […]}`), or the value itself.
 */
export function recordsOf(value: unknown, depth = 0): unknown[] {
  if (Array.isArray(value)) return value;
  if (!isRecord(value) || depth > 4) return [value];
  const entries = Object.entries(value);
  const lists = entries.filter(([, inner]) => isListOfRecords(inner) || (Array.isArray(inner) && !isTitled(value)));
  if (lists.length > 0 && !isTitled(value)) {
    const texts = entries.filter(([, inner]) => typeof inner === 'string' && inner.length > longTextChars);
    return [...texts.map(([key, inner]) => ({ [key]: inner })), ...lists.flatMap(([, list]) => list as unknown[])];
  }
  const inner = entries.filter(([, child]) => isRecord(child));
  const [only] = inner;
  const restIsSmall = entries.every(([, child]) => isRecord(child) || typeof child !== 'string' || child.length < 40);
  if (only !== undefined && inner.length === 1 && restIsSmall && !isTitled(value)) return recordsOf(only[1], depth + 1);
  return [value];
}

const longTextChars = 40;
const titleKeys = ['title', 'name', 'label', 'heading', 'subject', 'full_name', 'fullName', 'displayName'];
const linkKeys = ['url', 'link', 'href', 'html_url', 'htmlUrl', 'web_url', 'webUrl', 'permalink', 'uri', 'source_url'];
const textKeys = [
  'content',
  'text',
  'body',
  'markdown',
  'page_content',
  'snippet',
  'excerpt',
  'description',
  'summary',
];

/** A record as a person would write it down: title, text, then what else it says, without noise. */
export function toPiece(record: unknown): TextPiece {
  if (typeof record === 'string') return { text: record.trim() };
  if (!isRecord(record)) return { text: render(record) };
  const title = firstString(record, titleKeys);
  const link = firstString(record, linkKeys);
  const texts = textKeys.flatMap((key) => {
    const value = record[key];
    return typeof value === 'string' && value.trim() !== '' ? [{ key, value: value.trim() }] : [];
  });
  const shown = new Set(texts.map((text) => text.key));
  const heading = title !== undefined && !texts.some((text) => text.value.includes(title)) ? [title] : [];
  const rest = Object.entries(record)
    .filter(([key, value]) => !shown.has(key) && value !== title && value !== link)
    .map(([key, value]) => ({ key, text: render(value) }))
    .filter(({ text }) => text !== '')
    .map(({ key, text }) => `${key}: ${text}`);
  const text = [...heading, ...texts.map((entry) => printable(entry.value)), ...rest].join('\n');
  return { text: text === '' && link !== undefined ? link : text, title: title?.slice(0, 200), link };
}

/** Base64 and other long runs without a space are data for machines: their size is worth a token, their bytes are not. */
export function printable(text: string): string {
  if (text.length < opaqueChars) return text;
  const head = text.slice(0, 2000);
  const isOpaque = !/\s/.test(head) && /^[A-Za-z0-9+/=_:;,.-]+$/.test(head) && !head.startsWith('http');
  return isOpaque ? `(${text.length.toLocaleString('en')} characters of encoded data, not shown)` : text;
}

const opaqueChars = 400;
const manyNumbers = 16;

function render(value: unknown): string {
  if (value === null || value === undefined || value === '') return '';
  if (typeof value === 'string') return printable(value.trim());
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) {
    if (value.length === 0) return '';
    // Embedding vectors and pixel rows.
    if (value.length > manyNumbers && value.every((element) => typeof element === 'number'))
      return `(${value.length} numbers, not shown)`;
    const parts = value.map(render).filter((part) => part !== '');
    return parts.some((part) => part.length > 60) ? parts.map((part) => `\n- ${part}`).join('') : parts.join(', ');
  }
  return Object.entries(value)
    .map(([key, inner]) => [key, render(inner)] as const)
    .filter(([, text]) => text !== '')
    .map(([key, text]) => `${key} ${text}`)
    .join(', ');
}

function firstString(record: Record<string, unknown>, keys: readonly string[]): string | undefined {
  return keys.map((key) => record[key]).find((value) => typeof value === 'string' && value !== '') as
    | string
    | undefined;
}

function isListOfRecords(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > 0 && value.every(isRecord);
}

/** An object with a name of its own is a result, not an envelope around results. */
function isTitled(value: Record<string, unknown>): boolean {
  return titleKeys.some((key) => typeof value[key] === 'string') || typeof value.id === 'string';
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
