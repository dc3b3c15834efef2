import { fileURLToPath } from 'node:url';

const compileCache = new URL('./compile-cache.js', import.meta.url).href;

/** The command and arguments that start one of our programs: `childProgram(import.meta.url, 'legacy')`. */
export function childProgram(url: string | URL, ...args: string[]) {
  return { command: process.execPath, args: ['--import', compileCache, fileURLToPath(url), ...args] };
}
