/** compare.wat, compiled: the inner loops of comparing texts, several times faster than the same loops in JavaScript. */
const compiled =
  'AGFzbQEAAAABJwZgA39/fwF/YAJ/fwF/YAF/AGADf39/AGABfwF/YAZ/f39/f38BfwMLCgABAgMBAwEEAwUFAwEAAQc4BgZtZW1vcnkCAAZtaXNzZXMAAAlub3JtYWxpc2UAAQdwcm9maWxlAAMEbWFyawAIBWxhY2tzAAkKhwcKaAIBfwF7IAAgAmohAwNAIAQgAP0ABAAgAf0ABAD9c/19IAD9AAQQIAH9AAQQ/XP9ff2OAf1//a4BIQQgAEEgaiEAIAFBIGohASAAIANJDQALIAT9GwAgBP0bAWogBP0bAiAE/RsDamoLtwEBBn8gACECIAAhAyAAIAFBAXRqIQRBASEHAkADQCACIARPDQEgAi8BACEFIAJBAmohAiAFQSBGIAVBCWtBBE1yIQYgBUGgAU8EQCAFQaABRiAFQYDAAGtBC01yIAVBqMAARiAFQa/AAEZyIAVBgOAARnJyIQYLIAYgB3ENACAGIQcgA0EgIAUgBUHBAGtBGU1BBXRqIAYbOwEAIANBAmohAwwACwsgAyAAa0EBdiAHIAMgAEtxawsZAQF/IAAtAAAhASAAIAEgAUH/AUlqOgAAC4sBAQZ/IAJBAEGAyAD8CwAgAUECSQRADwsgACABQQF0aiEEIAAvAQAhBSAAQQJqIQMDQCADLwEAIQYgByEIIAVBBXQgBnMhByAGIQUgAiAHQf8HcWoQAiADIABBAmpLBEAgAkGACGogCEEFdCAGc0Gx893xeWxBE3ZqEAILIANBAmohAyADIARJDQALCxQAIAAgAUGx893xeWxBE3ZBAnRqCxkBAX8gACABEAQhAyADIAMoAgAgAnI2AgALDQAgAEGTg4AIbCABcwsVACAALwEAIAAvAQIQBiAALwEEEAYLiAEBBH9BAEEAQYCABvwLAAJAA0AgA0EDaiABSg0BIAAgA0EBdGohBEEBIAMgAnZ0IQYgBBAHIQVBACAFIAYQBSADQQFqIQMgA0EDaiABSg0AIAUgBC8BBhAGIQVBgIACIAUgBhAFIANBBGogAUoNACAFIAQvAQgQBiEFQYCABCAFIAYQBQwACwsL3gEBBn8DQCAGQQVqIAFKBEBBAA8LIAAgBkEBdGohByAGIANqIAR2IQtBf0EAIAYgAmsgBHYgBiACTBt0QX9BHyALa0EAIAtBH0gbdnEhCSAHEAchCEEAIAgQBCgCACAJcUUEQCAGQQNqIQYFIAggBy8BBhAGIQhBgIACIAgQBCgCACAJcUUEQCAGQQRqIQYFIAggBy8BCBAGIQggCkGAgAQgCBAEKAIAIAlxQQBHayEKIAZBBWohBgsLIApBAWohCiAKIAVKBEBBAQ8LIAUgCmtBA2wgASAGa0wNAAtBAAs=';

// Node has it; the types of Node leave it to the browser's library.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: unknown };
};

export interface CompareKernel {
  memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  normalise(text: number, length: number): number;
  profile(text: number, length: number, row: number): void;
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
