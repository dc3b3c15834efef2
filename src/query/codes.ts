/** The UTF-16 code units of a text. Loops over them run several times faster than over the characters of a string. */
export function toCodes(text: string): Uint16Array {
  const bytes = Buffer.from(text, 'utf16le');
  return new Uint16Array(bytes.buffer, bytes.byteOffset, text.length);
}
