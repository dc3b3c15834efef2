/**
 * Light English stemming: plural, -ing, -ed and a few endings that only change the part of speech. It errs on the side
 * of leaving words alone, so that «news», «address» and product names keep their identity.
 */
export function stem(word: string): string {
  if (word.length < 4) return word;
  let stemmed = singular(word);
  if (stemmed.length > 5 && stemmed.endsWith('ing') && hasVowel(stemmed, 3)) stemmed = undouble(stemmed.slice(0, -3));
  else if (stemmed.length > 4 && stemmed.endsWith('ed') && hasVowel(stemmed, 2))
    stemmed = undouble(stemmed.slice(0, -2));
  if (stemmed.length > 4 && stemmed.endsWith('e')) stemmed = stemmed.slice(0, -1);
  if (stemmed.length > 4 && stemmed.endsWith('y')) stemmed = `${stemmed.slice(0, -1)}i`;
  return stemmed;
}

/** «series» and «news» are no plurals of anything shorter. */
export function singular(word: string): string {
  if (/(?:ss|us|is|series|species)$|^news$/.test(word)) return word;
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:ss|x|ch|sh|zz)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith('s') && word.length > 3 ? word.slice(0, -1) : word;
}

function hasVowel(word: string, suffixLength: number): boolean {
  return /[aeiouy]/.test(word.slice(0, -suffixLength));
}

function undouble(word: string): string {
  return /([bdfgmnprt])\1$/.test(word) ? word.slice(0, -1) : word;
}
