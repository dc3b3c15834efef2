/**
 * `String.prototype.normalize` in linear time. The built-in sorts combining marks by insertion, so a run of 64 KB takes
 * seconds. Runs are limited to 30 marks, as in stream-safe text (UAX #15).
 */
const tooManyMarks = /(\p{M}{30})\p{M}+/gu;

export function normalize(text: string, form: 'NFKC' | 'NFKD'): string {
  return text.replace(tooManyMarks, '$1').normalize(form);
}
