/** compare.wat, compiled: the inner loops of comparing texts, several times faster than the same loops in JavaScript. */
const compiled =
  'AGFzbQEAAAABOAhgA39/fwF/YAF/AX9gAX8AYAN/f38AYAR/f39/AX9gBX9/f39+AX9gAn9/AX9gBn9/f39/fwF/AxIRAAABAQACAwEDBAQFAAYBAQcFAwEAAQYNAXwBRAAAAAAAAAAACwdJCAZtZW1vcnkCAAZtaXNzZXMAAAlub3JtYWxpc2UABAdwcm9maWxlAAYEbm90ZQAIBWxhY2tzAAoFc3RlcHMDAAZ3aXRoaW4AEAreDhFoAgF/AXsgACACaiEDA0AgBCAA/QAEACAB/QAEAP1z/X0gAP0ABBAgAf0ABBD9c/19/Y4B/X/9rgEhBCAAQSBqIQAgAUEgaiEBIAAgA0kNAAsgBP0bACAE/RsBaiAE/RsCIAT9GwNqagsNACAAIAFrIAIgAWtNC0kAIABBoAFGIABBgMAAQYvAABABciAAQajAAEGpwAAQASAAQa/AAEZyciAAQd/AAEYgAEGALUZyIABBgOAARiAAQf/9A0ZycnILWgAgAEHAAUH/PxABIABBpsIAQYPDABABIABBtskAQc/JABABcnIgAEGA2ABB/9kAEAEgAEHAzAJB/9cCEAFyIABBgbADQbqwAxABIABBof4DQbr+AxABcnJyC6wCAwd/AXsBfyAAIQMgACEEIAAgAUEBdGohBUEBIQgCQANAIAMgBU8NASADIAlPIANBEGogBU1xBEAgA/0ABAAhCiAKQSD9EP0t/YQBIQsgCkEg/RD9kQFB3wD9EP0w/YMBIAsgC0EBdCAIcnFFcQRAIAQgCkEg/RAgCkHBAP0Q/ZEBQRr9EP0w/U79jgH9CwQAIAtBB3YhCCADQRBqIQMgBEEQaiEEDAILIANBEGohCQsgAy8BACEGIANBAmohAyAGQSBGIAZBCUENEAFyIQcgBkGgAU8EQCAGEAIhByACIAYQA0kEQEF/DwsLIAcgCHENACAHIQggBEEgIAYgBkHBAEHaABABQQV0aiAHGzsBACAEQQJqIQQMAAsLIAQgAGtBAXYgCCAEIABLcWsLGQEBfyAALQAAIQEgACABIAFB/wFJajoAAAuLAQEGfyACQQBBgMgA/AsAIAFBAkkEQA8LIAAgAUEBdGohBCAALwEAIQUgAEECaiEDA0AgAy8BACEGIAchCCAFQQV0IAZzIQcgBiEFIAIgB0H/B3FqEAUgAyAAQQJqSwRAIAJBgAhqIAhBBXQgBnNBsfPd8XlsQRN2ahAFCyADQQJqIQMgAyAESQ0ACwsdACAAKQMAQhCGQpX4qfqXt96bnn9+QjKIp0ECdAtHAQJ/QQBBAEGAgAT8CwACQANAIANBA2ogAUoNASAAIANBAXRqEAchBCAEIAQoAgBBASADIAJ2dHI2AgAgA0EBaiEDDAALCwswAEEBQYOABCAAIAJBAXRqEAcoAgAgASACQQV2QQJ0aigCAHEbQQAgAkEDaiADTBsLzwEBDn8gASERIAFBAnYhCCAIQQF0IQkgCSAIaiEKIAghBSAJIQYgCiEHA0AgACACIAQgCBAJIQsgACACIAUgCRAJIQwgACACIAYgChAJIQ0gACACIAcgARAJIQ4gBCALQf//A3FqIQQgBSAMQf//A3FqIQUgBiANQf//A3FqIQYgByAOQf//A3FqIQcgCyAMaiANIA5qaiEPIBEgD0H//wNxayERIBAgD0EQdmohECAQIANKBEBBAQ8LIA9BAEcgAyAQa0EDbCARTHENAAtBAAvSAQICfwp+IAAgAkEEdGohBSAAIANBBHRqIQYgASACQQN0aiEBQgEhBwNAIAUpAwAhCSAFKQMIIQogASkDACELIAsgCoQhDCALIAiEIQsgCyAJgyAJfCAJhSALhCENIAogDSAJhEJ/hYQhDiAJIA2DIQ8gDkIBhiAHhCEQIAUgD0IBhiAIhCAMIBCEQn+FhDcDACAFIBAgDIM3AwggDkI/iCEHIA9CP4ghCCABQQhqIQEgBUEQaiEFIAUgBk0NAAsgDiAEiEIBg6cgDyAEiEIBg6drCzACAX8BfiAAIAFBBHRqIQNCf0HAACACa62IIQQgAykDACAEg3sgAykDCCAEg3t9pwsMACAAIAEgACABSBsLDAAgAEEAIABBAEobCw8AIABBACAAayAAQQBKGwvTAwERfyACQT9qQQZ2IQYgBkEBayEHIAIgB0EGdGshCCAFIAIgAWsQD2tBAXUhCSAJIAEgAmsQDmohCiAJIAIgAWsQDmohC0F/IQ4gByEPA0AgDSAMIAprIA1BAWpBBnROaiENIA8gAkEBayAMIAtqEA1BBnYQDSEQAkADQCAOIBBODQEgDkEBaiEOIAMgDkEEdGohEyATQn83AwAgE0IANwMIIBEgCEHAACAOIAdGG2ohEQwACwsjACAOQQFqIA1rt6AkACARIAMgBCAGIAAgDEEBdGovAQBBAXQvAQBsQQN0aiANIA4gCEHAACAOIAdGG0EBa60QC2ohESAMQT9xQT9GBEAgESESQX8hFEF/IRUgDiETA0AgCEHAACATIAdGGyEWIBIgAiATQQZ0IBZqayABIAxrQQFraxAPakGAAWsgBUgEQCATIRQgFUEASARAIBMhFQsLIBIgAyATIBYQDGshEiATQQFrIRMgEyANTg0ACyAUQQBIBEBBAA8LIBQhDSAHIBVBAWoQDSEPAkADQCAOIA9MDQEgESADIA4gCEHAACAOIAdGGxAMayERIA5BAWshDgwACwsLIAxBAWohDCAMIAFIDQALIA4gB0YgESAFTHEL';

// Node has it; the types of Node leave it to the browser's library.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: unknown };
};

export interface CompareKernel {
  memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  normalise(text: number, length: number, isLower: number): number;
  profile(text: number, length: number, row: number): void;
  misses(a: number, b: number, bytes: number): number;
  note(text: number, length: number, stretchBits: number): void;
  lacks(text: number, length: number, near: number, limit: number): number;
  within(other: number, columns: number, rows: number, state: number, matches: number, limit: number): number;
  readonly steps: { readonly value: number };
}

let module: object | undefined;
const pageBytes = 65_536;

/** With a memory of its own, of at least so many bytes. */
export function createCompareKernel(bytes: number): CompareKernel {
  module ??= new WebAssembly.Module(Buffer.from(compiled, 'base64'));
  // The module above exports exactly this; no type can follow from its bytes.
  const kernel = new WebAssembly.Instance(module).exports as CompareKernel;
  growTo(kernel, bytes);
  return kernel;
}

/** Views of the memory are of no use afterwards. */
export function growTo({ memory }: CompareKernel, bytes: number): void {
  const missing = Math.ceil((bytes - memory.buffer.byteLength) / pageBytes);
  if (missing > 0) memory.grow(missing);
}
