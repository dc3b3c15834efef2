/** One result of one server, the unit that is ranked, merged and returned. */
import { type AnswerPart, type ParsedAnswer, parseAnswer, type ToolAnswer } from '../reading/answer.ts';
import { blockText, toPiece } from './records.ts';
import { maxPieceChars, splitDocument, splitText, type TextPiece } from './text-blocks.ts';

export interface Item {
  content: string;
  server: string;
  tool: string;
  title?: string;
  link?: string;
  /** When it was retrieved, ISO 8601. */
  timestamp: string;
  /** Place in the answer of its tool, from 0. */
  position: number;
  /** Which of its server's answers it comes from. */
  answer?: number;
}

/** An item with the chance that it answers the question. */
export interface RelevantItem extends Item {
  relevance: number;
}

interface ItemSource {
  server: string;
  tool: string;
  timestamp: string;
  answer?: number;
}

export interface ItemLimits {
  maxChars: number;
  maxItems: number;
}

interface ExtractedItems {
  items: Item[];
  /** True when the answer was larger than the limits and was cut after the last item that fits. */
  truncated: boolean;
  /** Characters of text the server sent, before anything was cut. */
  receivedChars: number;
}

export function toItems(answer: ToolAnswer, source: ItemSource, limits: ItemLimits): ExtractedItems {
  return itemsOf(parseAnswer(answer, limits.maxChars), source, limits);
}

/** `asDocument`: the answer is one thing that was read, not a list of hits. */
export function itemsOf(
  answer: ParsedAnswer,
  source: ItemSource,
  limits: ItemLimits,
  asDocument = false,
): ExtractedItems {
  const items: Item[] = [];
  const found = eachItem(answer, source, limits, asDocument);
  let next = found.next();
  for (; !next.done; next = found.next()) items.push(next.value);
  return { items, truncated: next.value, receivedChars: answer.receivedChars };
}

/** One by one, so that other work can run in between; the return value says whether the answer was cut. */
export function* eachItem(
  answer: ParsedAnswer,
  source: ItemSource,
  limits: ItemLimits,
  asDocument: boolean,
): Generator<Item, boolean> {
  let { maxChars } = limits;
  let position = 0;
  for (const { text, title, link } of piecesOf(answer.parts, asDocument)) {
    if (text === '') continue;
    if (position >= limits.maxItems || text.length > maxChars) return true;
    maxChars -= text.length;
    yield {
      content: text,
      ...source,
      ...(title === undefined || title === '' ? {} : { title }),
      ...(link === undefined ? {} : { link }),
      position,
    };
    position += 1;
  }
  return answer.truncated;
}

function* piecesOf(parts: readonly AnswerPart[], asDocument: boolean): Iterable<TextPiece> {
  for (const part of parts) {
    switch (part.kind) {
      case 'records':
        for (const { records } of part.groups) {
          const text = asDocument ? documentText(records) : undefined;
          if (text !== undefined) for (const piece of splitDocument(text)) yield* inParts(piece);
          else for (const record of records) yield* inParts(toPiece(record));
        }
        break;
      case 'text':
        for (const stretch of stretchesOf(part.text))
          for (const piece of asDocument ? splitDocument(stretch) : splitText(stretch))
            yield* inParts(part.uri === undefined ? piece : { ...piece, link: piece.link ?? part.uri });
        break;
      case 'link':
        yield {
          text: [part.name, part.description, part.uri].filter((line) => line !== '').join('\n'),
          title: part.name,
          link: part.uri,
        };
        break;
      default:
        yield { text: part.text, ...(part.uri === undefined ? {} : { link: part.uri }) };
    }
  }
}

const stretchChars = 65_536;

/** A long text in parts that are read one after the other, divided before a heading, between paragraphs or lines. */
function* stretchesOf(text: string): Iterable<string> {
  let from = 0;
  while (text.length - from > stretchChars) {
    const window = text.slice(from, from + stretchChars);
    const ends = ['\n#', '\n\n', '\n'].map((boundary) => window.lastIndexOf(boundary) + 1);
    const end = ends.find((candidate) => candidate > stretchChars / 2) ?? stretchChars;
    yield window.slice(0, end);
    from += end;
  }
  yield from === 0 ? text : text.slice(from);
}

/** The blocks of one document, read as one text. */
function documentText(records: readonly unknown[]): string | undefined {
  if (records.length < 2) return undefined;
  const texts = records.map((record) => blockText(record));
  return texts.filter((text) => text !== undefined).length < records.length / 2
    ? undefined
    : texts.filter((text) => text !== undefined && text !== '').join('\n');
}

/** Long pieces in parts at the best boundary there is: a paragraph, a line, a sentence, a word. */
function* inParts(piece: TextPiece): Iterable<TextPiece> {
  let from = 0;
  const { text } = piece;
  while (text.length - from > maxPieceChars) {
    const window = text.slice(from, from + maxPieceChars);
    const ends = ['\n\n', '\n', '. ', ' '].map((boundary) => window.lastIndexOf(boundary) + boundary.length);
    const end = ends.find((candidate) => candidate > maxPieceChars / 3) ?? maxPieceChars;
    yield { ...piece, text: window.slice(0, end).trim() };
    from += end;
  }
  yield from === 0 ? piece : { ...piece, text: text.slice(from).trim() };
}
