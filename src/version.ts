import { readFileSync } from 'node:fs';

const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

export const version = String((manifest as { version: unknown }).version);
