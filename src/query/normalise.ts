import { createCompareKernel, growTo } from './compare-kernel.ts';

/** What is compared: lower case, every run of white space one space, none at the ends; as UTF-16 code units. */
export function createNormaliser(): (text: string) => Uint16Array {
  const kernel = createCompareKernel(0);
  let bytes = Buffer.from(kernel.memory.buffer);

  function normalised(text: string, isLower: boolean): number {
    if (2 * text.length > bytes.length) {
      growTo(kernel, 2 * text.length);
      bytes = Buffer.from(kernel.memory.buffer);
    }
    bytes.write(text, 'utf16le');
    return kernel.normalise(0, text.length, isLower ? 1 : 0);
  }

  return (text) => {
    let length = normalised(text, false);
    // The slow conversion of every language's letters, which most texts need not go through.
    if (length < 0) length = normalised(text.toLowerCase(), true);
    return new Uint16Array(kernel.memory.buffer.slice(0, 2 * length));
  };
}
