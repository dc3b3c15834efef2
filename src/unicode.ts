/**
 * `String.prototype.normalize` in linear time. It sorts the marks on a letter by inserting them one by one, so a run of
 * 64 KB takes seconds. Unicode's own limit for streams (UAX #15, stream-safe text) is 30 marks.
 */
const tooManyMarks = /(\p{M}{30})\p{M}+/gu;

export function normalize(text: string, form: 'NFKC' | 'NFKD'): string {
  return text.replace(tooManyMarks, '$1').normalize(form);
}
