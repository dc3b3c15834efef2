import { createCompareKernel, growTo } from './compare-kernel.ts';

/** Letters beyond ASCII that have two cases; looking for them first spares most texts the slow general conversion. */
const otherCased = /[\u00c0-\u1fff\ua640-\uabff\uff21-\uff3a\ud801-\ud83a]/;

/** What is compared: lower case, every run of white space one space, none at the ends; as UTF-16 code units. */
export function createNormaliser(): (text: string) => Uint16Array {
  const kernel = createCompareKernel(0);
  let bytes = Buffer.from(kernel.memory.buffer);
  return (text) => {
    const lower = otherCased.test(text) ? text.toLowerCase() : text;
    if (2 * lower.length > bytes.length) {
      growTo(kernel, 2 * lower.length);
      bytes = Buffer.from(kernel.memory.buffer);
    }
    bytes.write(lower, 'utf16le');
    const length = kernel.normalise(0, lower.length);
    return new Uint16Array(kernel.memory.buffer.slice(0, 2 * length));
  };
}
