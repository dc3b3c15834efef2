/** compare.wat, compiled: the inner loops of comparing texts, several times faster than the same loops in JavaScript. */
const compiled =
  'AGFzbQEAAAABIwVgA39/fwF/YAJ/fwF/YAN/f38AYAF/AX9gBn9/f39/fwF/AwgHAAECAQMCBAUDAQABByIEBm1lbW9yeQIABm1pc3NlcwAABG1hcmsABQVsYWNrcwAGCqcEB2gCAX8BeyAAIAJqIQMDQCAEIAD9AAQAIAH9AAQA/XP9fSAA/QAEECAB/QAEEP1z/X39jgH9f/2uASEEIABBIGohACABQSBqIQEgACADSQ0ACyAE/RsAIAT9GwFqIAT9GwIgBP0bA2pqCxQAIAAgAUGx893xeWxBE3ZBAnRqCxkBAX8gACABEAEhAyADIAMoAgAgAnI2AgALDQAgAEGTg4AIbCABcwsVACAALwEAIAAvAQIQAyAALwEEEAMLiAEBBH9BAEEAQYCABvwLAAJAA0AgA0EDaiABSg0BIAAgA0EBdGohBEEBIAMgAnZ0IQYgBBAEIQVBACAFIAYQAiADQQFqIQMgA0EDaiABSg0AIAUgBC8BBhADIQVBgIACIAUgBhACIANBBGogAUoNACAFIAQvAQgQAyEFQYCABCAFIAYQAgwACwsL3gEBBn8DQCAGQQVqIAFKBEBBAA8LIAAgBkEBdGohByAGIANqIAR2IQtBf0EAIAYgAmsgBHYgBiACTBt0QX9BHyALa0EAIAtBH0gbdnEhCSAHEAQhCEEAIAgQASgCACAJcUUEQCAGQQNqIQYFIAggBy8BBhADIQhBgIACIAgQASgCACAJcUUEQCAGQQRqIQYFIAggBy8BCBADIQggCkGAgAQgCBABKAIAIAlxQQBHayEKIAZBBWohBgsLIApBAWohCiAKIAVKBEBBAQ8LIAUgCmtBA2wgASAGa0wNAAtBAAs=';

// Node has it; the types of Node leave it to the browser's library.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: unknown };
};

export interface CompareKernel {
  memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  misses(a: number, b: number, bytes: number): number;
  mark(text: number, length: number, stretchBits: number): void;
  lacks(text: number, length: number, before: number, after: number, stretchBits: number, limit: number): number;
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
