/** The spellings by which a secret is recognised: plain, line by line, quoted and encoded. */

/** Spellings are split into pieces, so that matching has a constant cost per position and parts are recognised. */
const pieceChars = 32;
/** Half of a base64 line as wrapped by MIME and `base64`. */
const wrappedPieceChars = 38;
/** Longer values have fewer pieces of twice the length. */
const longValue = 4_096;
/** A text of less than two pieces is one, and the pieces of long values are twice as long. */
export const maxPattern = 4 * wrappedPieceChars;
/** Shorter lines are recognised only together with their neighbours. */
const minLine = 16;
/** Shorter encodings would match ordinary text. */
const minEncoded = 8;

export function spellingsOf(secret: string): string[] {
  const value = secret.trim().toWellFormed();
  const written = [value, ...linesOf(value)].flatMap((text) => [text, ...quoted(text), ...percentEncoded(text)]);
  const encoded = [...base64(value), ...hex(value)].filter((text) => text.length >= minEncoded);
  const factor = value.length > longValue ? 2 : 1;
  return [
    ...new Set([
      ...[...written, ...encoded].flatMap((text) => cut(text, factor * pieceChars)),
      ...cut(Buffer.from(value).toString('base64'), factor * wrappedPieceChars),
    ]),
  ];
}

/** The lines of a value (a PEM, often with `\n` spelt out); short ones together with their neighbours. */
function linesOf(value: string): string[] {
  const lines: string[] = [];
  let offset = 0;
  let start: number | undefined;
  let previous = 0;
  const endAt = (end: number) => {
    if (start === undefined) return;
    const isShort = end - start < minLine;
    lines.push(value.slice(isShort ? previous : start, end));
    previous = isShort ? previous : start;
    start = undefined;
  };
  for (const [index, part] of value.split(/(\r?\n|\\r\\n|\\n)/).entries()) {
    const isBreak = index % 2 === 1;
    if (part.startsWith('-----')) {
      // The first and last line of a PEM are the same in all PEM files.
      endAt(offset);
      previous = offset + part.length;
    } else if (!isBreak && part.trim() !== '') {
      start ??= offset;
      if (offset + part.length - start >= minLine) endAt(offset + part.length);
    }
    offset += part.length;
  }
  endAt(offset);
  return lines.filter((line) => line.length >= minLine);
}

/** In JSON, and in JSON that is quoted in JSON. */
function quoted(text: string): string[] {
  const once = JSON.stringify(text).slice(1, -1);
  return [once, JSON.stringify(once).slice(1, -1)];
}

function percentEncoded(text: string): string[] {
  const forms = [encodeURIComponent(text), encodeURI(text), new URLSearchParams({ v: text }).toString().slice(2)];
  return forms.flatMap((form) => [form, form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())]);
}

/** Alone, and within something longer ("user:secret"), where it begins at any of three places of a group. */
function base64(text: string): string[] {
  const bytes = Buffer.from(text);
  const within = [0, 1, 2].map((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // The characters at both ends also contain bits of adjacent text.
    return whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  const alone = bytes.toString('base64');
  const forms = [alone, ...within];
  return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
}

function hex(text: string): string[] {
  const form = Buffer.from(text).toString('hex');
  return [form, form.toUpperCase()];
}

/** All of a text, in pieces; the last one overlaps its neighbour, because text that is wrapped may end with either. */
function cut(text: string, size: number): string[] {
  if (text.length < 2 * size) return [text];
  const pieces = Array.from({ length: Math.floor(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  );
  return [...pieces, text.slice(-size)];
}
