/**
 * A stretch of a text that can stand alone: a sentence, an entry of a list, a row, or a whole block of code. A heading
 * belongs to what follows it.
 */
export interface Passage {
  text: string;
  /** What stood between it and the passage before. */
  before: '' | ' ' | '\n';
}

export function passagesOf(text: string): Passage[] {
  const passages: Passage[] = [];
  let headings: string[] = [];
  for (const block of blocksOf(text)) {
    if (!block.isCode && isHeading(block.text)) {
      headings.push(block.text);
      continue;
    }
    const [first = '', ...others] = block.isCode ? [block.text] : sentencesOf(block.text);
    passages.push({ text: [...headings, first].join('\n'), before: passages.length === 0 ? '' : '\n' });
    for (const other of others) passages.push({ text: other, before: ' ' });
    headings = [];
  }
  if (headings.length > 0) passages.push({ text: headings.join('\n'), before: passages.length === 0 ? '' : '\n' });
  return passages;
}

interface Block {
  text: string;
  isCode: boolean;
}

const fence = /^\s*(?:```|~~~)/;
const isHeading = (line: string): boolean => /^#{1,6}\s[^\n]*$/.test(line);
/** Entries of lists, rows of tables, quotations, headings. */
const standsAlone = /^\s*(?:#{1,6}\s|[-*+•|>]|\d{1,4}[.)]\s)/;
/** Shorter lines were not broken because the page was full: the next one is something else. */
const fullLine = 50;

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let open: string[] = [];
  let isCode = false;
  const close = (): void => {
    const whole = open.join('\n').trim();
    if (whole !== '') blocks.push({ text: whole, isCode });
    open = [];
  };
  for (const line of text.split('\n')) {
    if (fence.test(line)) {
      if (!isCode) close();
      open.push(line);
      if (isCode) close();
      isCode = !isCode;
      continue;
    }
    if (!isCode && !continues(line, open.at(-1))) close();
    open.push(line);
  }
  close();
  return blocks;
}

function continues(line: string, before: string | undefined): boolean {
  if (before === undefined || before.length < fullLine || line.trim() === '') return false;
  return !standsAlone.test(line) && !isHeading(before);
}

/** An end is followed by a space and something that can begin a sentence; Chinese and Japanese need no space. */
const sentenceEnd = /(?<=[.!?]["')\]]?)\s+(?=["'([*_`]?[\p{Lu}\p{Lo}\p{N}])|(?<=[。！？])/u;

function sentencesOf(block: string): string[] {
  return /[.!?]["')\]]?\s|[。！？]/.test(block) ? block.split(sentenceEnd).filter((text) => text !== '') : [block];
}
