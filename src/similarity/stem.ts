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

function singular(word: string): string {
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  if (word.endsWith('sses') || word.endsWith('xes') || word.endsWith('ches') || word.endsWith('shes'))
    return word.slice(0, -2);
  if (word.endsWith('s') && !/(?:ss|us|is|ews)$/.test(word)) return word.slice(0, -1);
  return word;
}

function hasVowel(word: string, suffixLength: number): boolean {
  return /[aeiouy]/.test(word.slice(0, -suffixLength));
}

function undouble(word: string): string {
  return /([bdfgmnprt])\1$/.test(word) ? word.slice(0, -1) : word;
}
