/** compare.wat, compiled: the inner loops of comparing texts, several times faster than the same loops in JavaScript. */
const compiled =
  'AGFzbQEAAAABMAdgA39/fwF/YAJ/fwF/YAF/AGADf39/AGABfwF/YAZ/f39/f38Bf2AFf39/f34BfwMREAABAgMBAwEEAwUGAAEEBAUFAwEAAQYNAXwBRAAAAAAAAAAACwdJCAZtZW1vcnkCAAZtaXNzZXMAAAlub3JtYWxpc2UAAQdwcm9maWxlAAMEbWFyawAIBWxhY2tzAAkFc3RlcHMDAAZ3aXRoaW4ADwqLDRBoAgF/AXsgACACaiEDA0AgBCAA/QAEACAB/QAEAP1z/X0gAP0ABBAgAf0ABBD9c/19/Y4B/X/9rgEhBCAAQSBqIQAgAUEgaiEBIAAgA0kNAAsgBP0bACAE/RsBaiAE/RsCIAT9GwNqagu3AQEGfyAAIQIgACEDIAAgAUEBdGohBEEBIQcCQANAIAIgBE8NASACLwEAIQUgAkECaiECIAVBIEYgBUEJa0EETXIhBiAFQaABTwRAIAVBoAFGIAVBgMAAa0ELTXIgBUGowABGIAVBr8AARnIgBUGA4ABGcnIhBgsgBiAHcQ0AIAYhByADQSAgBSAFQcEAa0EZTUEFdGogBhs7AQAgA0ECaiEDDAALCyADIABrQQF2IAcgAyAAS3FrCxkBAX8gAC0AACEBIAAgASABQf8BSWo6AAALiwEBBn8gAkEAQYDIAPwLACABQQJJBEAPCyAAIAFBAXRqIQQgAC8BACEFIABBAmohAwNAIAMvAQAhBiAHIQggBUEFdCAGcyEHIAYhBSACIAdB/wdxahACIAMgAEECaksEQCACQYAIaiAIQQV0IAZzQbHz3fF5bEETdmoQAgsgA0ECaiEDIAMgBEkNAAsLFAAgACABQbHz3fF5bEETdkECdGoLGQEBfyAAIAEQBCEDIAMgAygCACACcjYCAAsNACAAQZODgAhsIAFzCxUAIAAvAQAgAC8BAhAGIAAvAQQQBguIAQEEf0EAQQBBgIAG/AsAAkADQCADQQNqIAFKDQEgACADQQF0aiEEQQEgAyACdnQhBiAEEAchBUEAIAUgBhAFIANBAWohAyADQQNqIAFKDQAgBSAELwEGEAYhBUGAgAIgBSAGEAUgA0EEaiABSg0AIAUgBC8BCBAGIQVBgIAEIAUgBhAFDAALCwveAQEGfwNAIAZBBWogAUoEQEEADwsgACAGQQF0aiEHIAYgA2ogBHYhC0F/QQAgBiACayAEdiAGIAJMG3RBf0EfIAtrQQAgC0EfSBt2cSEJIAcQByEIQQAgCBAEKAIAIAlxRQRAIAZBA2ohBgUgCCAHLwEGEAYhCEGAgAIgCBAEKAIAIAlxRQRAIAZBBGohBgUgCCAHLwEIEAYhCCAKQYCABCAIEAQoAgAgCXFBAEdrIQogBkEFaiEGCwsgCkEBaiEKIAogBUoEQEEBDwsgBSAKa0EDbCABIAZrTA0AC0EAC9IBAgJ/Cn4gACACQQR0aiEFIAAgA0EEdGohBiABIAJBA3RqIQFCASEHA0AgBSkDACEJIAUpAwghCiABKQMAIQsgCyAKhCEMIAsgCIQhCyALIAmDIAl8IAmFIAuEIQ0gCiANIAmEQn+FhCEOIAkgDYMhDyAOQgGGIAeEIRAgBSAPQgGGIAiEIAwgEIRCf4WENwMAIAUgECAMgzcDCCAOQj+IIQcgD0I/iCEIIAFBCGohASAFQRBqIQUgBSAGTQ0ACyAOIASIQgGDpyAPIASIQgGDp2sLMAIBfwF+IAAgAUEEdGohA0J/QcAAIAJrrYghBCADKQMAIASDeyADKQMIIASDe32nCwwAIAAgASAAIAFIGwsMACAAQQAgAEEAShsLDwAgAEEAIABrIABBAEobC9MDARF/IAJBP2pBBnYhBiAGQQFrIQcgAiAHQQZ0ayEIIAUgAiABaxAOa0EBdSEJIAkgASACaxANaiEKIAkgAiABaxANaiELQX8hDiAHIQ8DQCANIAwgCmsgDUEBakEGdE5qIQ0gDyACQQFrIAwgC2oQDEEGdhAMIRACQANAIA4gEE4NASAOQQFqIQ4gAyAOQQR0aiETIBNCfzcDACATQgA3AwggESAIQcAAIA4gB0YbaiERDAALCyMAIA5BAWogDWu3oCQAIBEgAyAEIAYgACAMQQF0ai8BAEEBdC8BAGxBA3RqIA0gDiAIQcAAIA4gB0YbQQFrrRAKaiERIAxBP3FBP0YEQCARIRJBfyEUQX8hFSAOIRMDQCAIQcAAIBMgB0YbIRYgEiACIBNBBnQgFmprIAEgDGtBAWtrEA5qQYABayAFSARAIBMhFCAVQQBIBEAgEyEVCwsgEiADIBMgFhALayESIBNBAWshEyATIA1ODQALIBRBAEgEQEEADwsgFCENIAcgFUEBahAMIQ8CQANAIA4gD0wNASARIAMgDiAIQcAAIA4gB0YbEAtrIREgDkEBayEODAALCwsgDEEBaiEMIAwgAUgNAAsgDiAHRiARIAVMcQs=';

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
