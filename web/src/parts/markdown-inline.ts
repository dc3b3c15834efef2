/** Emphasis, code and links within a paragraph, in one pass over the text. */

export type Inline =
  | { kind: 'text' | 'code'; text: string }
  | { kind: 'strong' | 'emphasis' | 'deleted'; parts: Inline[] }
  | { kind: 'link'; href: string; parts: Inline[] };

type Mark = '*' | '**' | '_' | '__' | '~~';
const kinds = { '*': 'emphasis', _: 'emphasis', '**': 'strong', __: 'strong', '~~': 'deleted' } as const;

interface Frame {
  mark: Mark | undefined;
  parts: Inline[];
}

/** Open marks at once. What is left open moves to the frame around it, so the depth bounds the time. */
const maxOpen = 12;
const maxUrl = 2_000;

export function toInline(text: string): Inline[] {
  return parse(text, true);
}

function parse(text: string, links: boolean): Inline[] {
  const codes = codeSpans(text);
  const brackets = links ? matchingBrackets(text, codes) : new Map<number, number>();
  const stack: Frame[] = [{ mark: undefined, parts: [] }];
  let plain = 0;

  const top = () => stack[stack.length - 1] as Frame;
  const add = (part: Inline) => top().parts.push(part);
  const flush = (until: number) => {
    if (until > plain) add({ kind: 'text', text: text.slice(plain, until) });
  };

  for (let at = 0; at < text.length; ) {
    const sign = text[at] as string;
    const span = sign === '`' ? codes.get(at) : undefined;
    const end =
      (span !== undefined && takeCode(at, span)) ||
      (sign === '\\' && takeEscape(at)) ||
      (sign === '[' && takeLink(at, at)) ||
      (sign === '!' && text[at + 1] === '[' && takeLink(at, at + 1)) ||
      (links && (sign === 'h' || sign === '<') && takeAddress(at)) ||
      ((sign === '*' || sign === '_' || sign === '~') && takeMark(at, sign));
    at = end || at + (sign === '`' ? runLength(text, at) : 1);
  }
  flush(text.length);
  while (stack.length > 1) abandon();
  return top().parts;

  function takeCode(at: number, { from, to, end }: CodeSpan): number {
    flush(at);
    add({ kind: 'code', text: text.slice(from, to) });
    plain = end;
    return end;
  }

  function takeEscape(at: number): number | undefined {
    if (!/[!-/:-@[-`{-~]/.test(text[at + 1] ?? '')) return undefined;
    flush(at);
    plain = at + 1;
    return at + 2;
  }

  function takeLink(at: number, bracket: number): number | undefined {
    const close = brackets.get(bracket);
    if (close === undefined || text[close + 1] !== '(') return undefined;
    const address = addressAt(text, close + 2);
    if (address === undefined) return undefined;
    flush(at);
    add({ kind: 'link', href: address.href, parts: parse(text.slice(bracket + 1, close), false) });
    plain = address.end;
    return address.end;
  }

  function takeAddress(at: number): number | undefined {
    const start = text[at] === '<' ? at + 1 : at;
    if (!text.startsWith('http://', start) && !text.startsWith('https://', start)) return undefined;
    if (at === start && /\w/.test(text[at - 1] ?? '')) return undefined;
    const whole = /^[^\s<>"'`|\\^[\]{}]*/.exec(text.slice(start, start + maxUrl))?.[0] ?? '';
    if (start > at && text[start + whole.length] !== '>') return undefined;
    // A sentence ends after its address, not in it.
    const href = start > at ? whole : withoutEnd(whole, '.,:;!?*_)');
    if (href.length < 10) return undefined;
    flush(at);
    add({ kind: 'link', href, parts: [{ kind: 'text', text: href }] });
    plain = start + href.length + (start > at ? 1 : 0);
    return plain;
  }

  function takeMark(at: number, sign: '*' | '_' | '~'): number {
    const end = at + runLength(text, at);
    const { opens, closes } = flanks(text, at, end);
    flush(at);
    plain = at;
    while (plain < end) {
      const left = end - plain;
      const mark = closes ? openMark(sign, left) : undefined;
      if (mark !== undefined) close(mark);
      else if (opens && stack.length <= maxOpen && (sign !== '~' || left >= 2)) open(markOf(sign, left));
      else break;
    }
    return end;
  }

  function open(mark: Mark): void {
    stack.push({ mark, parts: [] });
    plain += mark.length;
  }

  /** The mark that so many signs can close; the innermost, so that "***a***" is closed as it was opened. */
  function openMark(sign: string, left: number): Mark | undefined {
    for (let place = stack.length - 1; place > 0; place -= 1) {
      const mark = stack[place]?.mark;
      if (mark?.[0] === sign && mark.length <= left) return mark;
    }
    return undefined;
  }

  function close(mark: Mark): void {
    while (top().mark !== mark) abandon();
    const { parts } = stack.pop() as Frame;
    if (parts.length > 0) add({ kind: kinds[mark], parts });
    plain += mark.length;
  }

  /** A mark that nothing closes is text. */
  function abandon(): void {
    const { mark = '', parts } = stack.pop() as Frame;
    add({ kind: 'text', text: mark });
    for (const part of parts) add(part);
  }
}

function withoutEnd(text: string, signs: string): string {
  let end = text.length;
  while (end > 0 && signs.includes(text[end - 1] as string)) end -= 1;
  return text.slice(0, end);
}

const doubled = { '*': '**', _: '__', '~': '~~' } as const;
const markOf = (sign: '*' | '_' | '~', left: number): Mark => (sign === '~' || left >= 2 ? doubled[sign] : sign);

/** As in CommonMark: a mark opens before a word and closes after one; "_" in the middle of a word does neither. */
function flanks(text: string, start: number, end: number): { opens: boolean; closes: boolean } {
  const [before = ' ', after = ' '] = [text[start - 1], text[end]];
  const opens = !/\s/.test(after) && (!isPunctuation(after) || /\s/.test(before) || isPunctuation(before));
  const closes = !/\s/.test(before) && (!isPunctuation(before) || /\s/.test(after) || isPunctuation(after));
  if (text[start] !== '_') return { opens, closes };
  return {
    opens: opens && (!closes || isPunctuation(before)),
    closes: closes && (!opens || isPunctuation(after)),
  };
}

const isPunctuation = (sign: string) => /[\p{P}\p{S}]/u.test(sign);

function runLength(text: string, at: number): number {
  let end = at + 1;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

interface CodeSpan {
  from: number;
  to: number;
  end: number;
}

/** Where code begins → where it ends: at the next run of as many backticks. */
function codeSpans(text: string): Map<number, CodeSpan> {
  const runs: { at: number; length: number; next?: number }[] = [];
  for (let at = text.indexOf('`'); at !== -1; ) {
    const length = runLength(text, at);
    runs.push({ at, length });
    at = text.indexOf('`', at + length);
  }
  const latest = new Map<number, number>();
  for (const run of runs.toReversed()) {
    run.next = latest.get(run.length);
    latest.set(run.length, run.at);
  }
  const spans = new Map<number, CodeSpan>();
  let end = 0;
  for (const { at, length, next } of runs) {
    if (next === undefined || at < end) continue;
    end = next + length;
    spans.set(at, { from: at + length, to: next, end });
  }
  return spans;
}

function matchingBrackets(text: string, codes: ReadonlyMap<number, CodeSpan>): Map<number, number> {
  const open: number[] = [];
  const pairs = new Map<number, number>();
  for (let at = 0; at < text.length; at += 1) {
    const code = codes.get(at);
    if (code !== undefined) at = code.end - 1;
    else if (text[at] === '\\') at += 1;
    else if (text[at] === '[') open.push(at);
    else if (text[at] === ']') {
      const start = open.pop();
      if (start !== undefined) pairs.set(start, at);
    }
  }
  return pairs;
}

/** `https://… "title")` after "](". */
function addressAt(text: string, start: number): { href: string; end: number } | undefined {
  const rest = text.slice(start, start + maxUrl);
  const found = /^(?:https?:\/\/|mailto:)[^\s()[\]<>]*(?:\([^\s()[\]<>]*\)[^\s()[\]<>]*)?(?: "[^"]*")?\)/.exec(
    rest,
  )?.[0];
  if (found === undefined) return undefined;
  return { href: found.slice(0, -1).split(' ')[0] ?? '', end: start + found.length };
}
