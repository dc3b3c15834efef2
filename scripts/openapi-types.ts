/** TypeScript from an OpenAPI document. */
import { registerHooks } from 'node:module';

// openapi-typescript prints with the API of TypeScript 5, which TypeScript 7 no longer has; ts-morph carries a copy.
const printer = `import common from '@ts-morph/common'; export default common.ts;`;
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'typescript') return next(specifier, context);
    return { url: new URL('./typescript-5.mjs', import.meta.url).href, format: 'module', shortCircuit: true };
  },
  load(url, context, next) {
    if (!url.endsWith('/scripts/typescript-5.mjs')) return next(url, context);
    return { format: 'module', source: printer, shortCircuit: true };
  },
});

const note = '/** Made by `npm run web-types` from the OpenAPI document: do not edit. */\n';

export interface ApiDocument {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
}

/** Errors are left out: they have one form on every path, which the page knows. */
export async function toTypes(document: ApiDocument): Promise<string> {
  const { astToString, default: openapiTS } = await import('openapi-typescript');
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
    operation.responses = Object.fromEntries(answers);
  }
  return note + astToString(await openapiTS(JSON.stringify(document), { defaultNonNullable: false }));
}
