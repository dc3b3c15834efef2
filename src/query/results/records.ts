import { isObject } from '../../json-rpc.ts';
import type { TextPiece } from './text-blocks.ts';

/** Keys under which servers put the name of a thing. */
export const titleKeys = ['title', 'name', 'label', 'heading', 'subject', 'full_name', 'fullName', 'displayName'];
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
  if (!isObject(record)) return { text: render(record) };
  const ofBlock = blockText(record);
  if (ofBlock !== undefined) return { text: ofBlock };
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
  const head = text.slice(0, 2_000);
  const isOpaque = !/\s/.test(head) && /^[A-Za-z0-9+/=_:;,.-]+$/.test(head) && !head.startsWith('http');
  return isOpaque ? `(${text.length.toLocaleString('en')} characters of encoded data, not shown)` : text;
}

const opaqueChars = 400;

const manyNumbers = 16;

/** Deeper values are no longer told. */
const maxRenderDepth = 40;

function render(value: unknown, depth = 0): string {
  if (value === null || value === undefined || value === '') return '';
  if (typeof value === 'string') return printable(value.trim());
  if (typeof value !== 'object') return String(value);
  if (depth > maxRenderDepth) return '';
  if (Array.isArray(value)) {
    if (value.length === 0) return '';
    // Embedding vectors and pixel rows.
    if (value.length > manyNumbers && value.every((element) => typeof element === 'number'))
      return `(${value.length} numbers, not shown)`;
    const parts = value.map((part) => render(part, depth + 1)).filter((part) => part !== '');
    return parts.some((part) => part.length > 60) ? parts.map((part) => `\n- ${part}`).join('') : parts.join(', ');
  }
  if ('plain_text' in value && typeof value.plain_text === 'string') return value.plain_text;
  const ofBlock = blockText(value);
  if (ofBlock !== undefined) return ofBlock;
  if (Object.values(value).every(saysNothing)) return '';
  return Object.entries(value)
    .map(([key, inner]) => [key, render(inner, depth + 1)] as const)
    .filter(([, text]) => text !== '')
    .map(([key, text]) => `${key} ${text}`)
    .join(', ');
}

/** `{bold: false, color: "default"}`. */
const saysNothing = (value: unknown): boolean =>
  value === false ||
  value === null ||
  value === '' ||
  value === 'default' ||
  (Array.isArray(value) && value.length === 0);

const maxBlockDepth = 12;

/**
 * The text of a node of a document as editors store it: `{type: "paragraph", content: [{type: "text", text: "…"}]}`, or
 * under its own type, `{type: "paragraph", paragraph: {rich_text: […]}}`. Undefined for anything else.
 */
export function blockText(node: unknown, depth = 0): string | undefined {
  if (!isObject(node) || typeof node.type !== 'string' || depth > maxBlockDepth) return undefined;
  const own = node[node.type];
  if (isObject(own) && Array.isArray(own.rich_text)) return own.rich_text.map((run) => render(run)).join('');
  if (typeof node.text === 'string' && node.type === 'text') return node.text;
  const children = [node.content, node.children, node.elements].find(Array.isArray);
  const texts = children?.map((child) => blockText(child, depth + 1));
  if (texts === undefined || texts.length === 0 || texts.some((text) => text === undefined)) return undefined;
  const isInline = children?.every((child) => isObject(child) && child.type === 'text') ?? false;
  return texts.join(isInline ? '' : '\n');
}

function firstString(record: Record<string, unknown>, keys: readonly string[]): string | undefined {
  return keys.map((key) => record[key]).find((value) => typeof value === 'string' && value !== '') as
    | string
    | undefined;
}
