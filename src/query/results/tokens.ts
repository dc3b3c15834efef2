import { toCodes } from '../../similarity/word-scanner.ts';

/**
 * About how many tokens a model reads a text as: a word of letters costs one and a bit more when it is long, digits go
 * by threes, punctuation and characters beyond Latin one each. Within a tenth or two of real tokenizers, which is what
 * a budget needs.
 */
export function estimateTokens(text: string): number {
  const codes = toCodes(text);
  let tokens = 0;
  let letters = 0;
  let digits = 0;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    const lower = code | 32;
    if ((lower >= 97 && lower <= 122) || (code >= 0xc0 && code <= 0x24f)) {
      letters++;
      continue;
    }
    if (letters > 0) tokens += wordTokens(letters);
    letters = 0;
    if (code >= 48 && code <= 57) {
      if (digits % 3 === 0) tokens++;
      digits++;
      continue;
    }
    digits = 0;
    if (code === 32) continue;
    // Half of punctuation and line breaks join a neighbour; the other half of a surrogate pair is already counted.
    if (code < 128) tokens += 0.6;
    else if (code < 0xdc00 || code > 0xdfff) tokens++;
  }
  if (letters > 0) tokens += wordTokens(letters);
  return Math.ceil(tokens);
}

function wordTokens(letters: number): number {
  return letters <= 7 ? 1 : 1 + (letters - 7) / 5;
}
