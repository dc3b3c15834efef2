/** compare.wat, compiled: the inner loops of comparing texts, several times faster than the same loops in JavaScript. */
const compiled =
  'AGFzbQEAAAABTgxgA39/fwF/YAF/AX9gAX8AYAN/f38AYAF+AX9gAX4BfmACfn4BfmADf35/AGAEf39/fwF/YAJ/fwF/YAZ/f39/f38Bf2AFf39/f34BfwMYFwAAAQEAAgMEBQUGBwMICQoKCwAJAQEKBQMBAAEGDQF8AUQAAAAAAAAAAAsHSQgGbWVtb3J5AgAGbWlzc2VzAAAJbm9ybWFsaXNlAAQHcHJvZmlsZQAGBG1hcmsADAVsYWNrcwAQBXN0ZXBzAwAGd2l0aGluABYK9RAXaAIBfwF7IAAgAmohAwNAIAQgAP0ABAAgAf0ABAD9c/19IAD9AAQQIAH9AAQQ/XP9ff2OAf1//a4BIQQgAEEgaiEAIAFBIGohASAAIANJDQALIAT9GwAgBP0bAWogBP0bAiAE/RsDamoLDQAgACABayACIAFrTQtJACAAQaABRiAAQYDAAEGLwAAQAXIgAEGowABBqcAAEAEgAEGvwABGcnIgAEHfwABGIABBgC1GciAAQYDgAEYgAEH//QNGcnJyC1oAIABBwAFB/z8QASAAQabCAEGDwwAQASAAQbbJAEHPyQAQAXJyIABBgNgAQf/ZABABIABBwMwCQf/XAhABciAAQYGwA0G6sAMQASAAQaH+A0G6/gMQAXJycgusAgMHfwF7AX8gACEDIAAhBCAAIAFBAXRqIQVBASEIAkADQCADIAVPDQEgAyAJTyADQRBqIAVNcQRAIAP9AAQAIQogCkEg/RD9Lf2EASELIApBIP0Q/ZEBQd8A/RD9MP2DASALIAtBAXQgCHJxRXEEQCAEIApBIP0QIApBwQD9EP2RAUEa/RD9MP1O/Y4B/QsEACALQQd2IQggA0EQaiEDIARBEGohBAwCCyADQRBqIQkLIAMvAQAhBiADQQJqIQMgBkEgRiAGQQlBDRABciEHIAZBoAFPBEAgBhACIQcgAiAGEANJBEBBfw8LCyAHIAhxDQAgByEIIARBICAGIAZBwQBB2gAQAUEFdGogBxs7AQAgBEECaiEEDAALCyAEIABrQQF2IAggBCAAS3FrCxkBAX8gAC0AACEBIAAgASABQf8BSWo6AAALiwEBBn8gAkEAQYDIAPwLACABQQJJBEAPCyAAIAFBAXRqIQQgAC8BACEFIABBAmohAwNAIAMvAQAhBiAHIQggBUEFdCAGcyEHIAYhBSACIAdB/wdxahAFIAMgAEECaksEQCACQYAIaiAIQQV0IAZzQbHz3fF5bEETdmoQBQsgA0ECaiEDIAMgBEkNAAsLCwAgAEIziKdBAnQLEwAgAEIQhkKV+Kn6l7fem55/fgsQACAAQpX4qfqXt96bnn9+CxIAIAAgAUKT++eyhte/9FZ+fAsaAQF/IAAgARAHaiEDIAMgAygCACACcjYCAAuGAQMCfwJ+AX9BAEEAQYCABvwLAAJAA0AgA0EDaiABSg0BIAAgA0EBdGohBEEBIAMgAnZ0IQcgBCkDACEFQQAgBRAIIAcQCyADQQFqIQMgA0EDaiABSg0AIAUQCSEGQYCAAiAGIAcQCyADQQRqIAFKDQBBgIAEIAYgBDMBCBAKIAcQCwwACwsLJgEBfyAAIAJqIAN2IQRBfyAAIAFrEBQgA3Z0QX9BHyAEaxAUdnELVwICfgJ/IAApAwAhAiACEAkhA0EAIAEgAhAIEAcoAgBxRyEEIARBACABIAMQBygCgIACcUdxIQUgBCAFaiAFQQAgASADIAAzAQgQChAHKAKAgARxR3FqCzcBAX8gACABQQF0aiABIAMgBCAFEA0QDiEGQYOABCAGaiAGQQNGQf//e2xqQQAgAUEFaiACTBsL3wEBDn8gASETIAFBAnYhCiAKQQF0IQsgCyAKaiEMIAohByALIQggDCEJA0AgACAGIAogAiADIAQQDyENIAYgDUH//wNxaiEGIAAgByALIAIgAyAEEA8hDiAHIA5B//8DcWohByAAIAggDCACIAMgBBAPIQ8gCCAPQf//A3FqIQggACAJIAEgAiADIAQQDyEQIAkgEEH//wNxaiEJIA0gDmogDyAQamohESATIBFB//8DcWshEyASIBFBEHZqIRIgEiAFSgRAQQEPCyARQQBHIAUgEmtBA2wgE0xxDQALQQAL0gECAn8KfiAAIAJBBHRqIQUgACADQQR0aiEGIAEgAkEDdGohAUIBIQcDQCAFKQMAIQkgBSkDCCEKIAEpAwAhCyALIAqEIQwgCyAIhCELIAsgCYMgCXwgCYUgC4QhDSAKIA0gCYRCf4WEIQ4gCSANgyEPIA5CAYYgB4QhECAFIA9CAYYgCIQgDCAQhEJ/hYQ3AwAgBSAQIAyDNwMIIA5CP4ghByAPQj+IIQggAUEIaiEBIAVBEGohBSAFIAZNDQALIA4gBIhCAYOnIA8gBIhCAYOnawswAgF/AX4gACABQQR0aiEDQn9BwAAgAmutiCEEIAMpAwAgBIN7IAMpAwggBIN7facLDAAgACABIAAgAUgbCwwAIABBACAAQQBKGwsPACAAQQAgAGsgAEEAShsL0wMBEX8gAkE/akEGdiEGIAZBAWshByACIAdBBnRrIQggBSACIAFrEBVrQQF1IQkgCSABIAJrEBRqIQogCSACIAFrEBRqIQtBfyEOIAchDwNAIA0gDCAKayANQQFqQQZ0TmohDSAPIAJBAWsgDCALahATQQZ2EBMhEAJAA0AgDiAQTg0BIA5BAWohDiADIA5BBHRqIRMgE0J/NwMAIBNCADcDCCARIAhBwAAgDiAHRhtqIREMAAsLIwAgDkEBaiANa7egJAAgESADIAQgBiAAIAxBAXRqLwEAQQF0LwEAbEEDdGogDSAOIAhBwAAgDiAHRhtBAWutEBFqIREgDEE/cUE/RgRAIBEhEkF/IRRBfyEVIA4hEwNAIAhBwAAgEyAHRhshFiASIAIgE0EGdCAWamsgASAMa0EBa2sQFWpBgAFrIAVIBEAgEyEUIBVBAEgEQCATIRULCyASIAMgEyAWEBJrIRIgE0EBayETIBMgDU4NAAsgFEEASARAQQAPCyAUIQ0gByAVQQFqEBMhDwJAA0AgDiAPTA0BIBEgAyAOIAhBwAAgDiAHRhsQEmshESAOQQFrIQ4MAAsLCyAMQQFqIQwgDCABSA0ACyAOIAdGIBEgBUxxCw==';

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
