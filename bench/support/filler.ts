/** As documents and tables are: a line break every eighty characters, some quotation marks, no long runs. */
export function fillerOf(bytes: number): string {
  let text = '';
  for (let line = 1; text.length < bytes; line += 1)
    text += `${line}. The "quick" brown fox jumps over the lazy dog, ${line * 7} times in ${line % 60} minutes\n`;
  return text.slice(0, bytes);
}
