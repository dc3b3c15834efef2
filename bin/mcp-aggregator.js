#!/usr/bin/env -S node --disable-warning=ExperimentalWarning --max-semi-space-size=4 --max-old-space-size=768
// A call leaves nothing behind, so that a small young generation costs little: it takes 30 MB less than one of 16 MB.
// With a smaller limit V8 collects the old generation sooner: a quarter less memory under load.
// Plain JavaScript, so that a Node too old for the rest still gets a sentence instead of a syntax error.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { hideEnvironment, restoreEnvironment } from './hidden-environment.js';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 13)) {
  console.error(
    `mcp-aggregator needs Node 22.13 or newer; this is Node ${process.versions.node}. Install a newer one from https://nodejs.org.`,
  );
  process.exit(1);
}

const words = process.argv.slice(2);
// The other commands start no servers.
const mayServe = words.length === 0 || words[0].startsWith('-') || words[0] === 'serve' || words[0] === 'stdio';
if (!restoreEnvironment() && mayServe) hideEnvironment(fileURLToPath(import.meta.url), words);

module.enableCompileCache?.();
const compiled = new URL('../dist/cli/cli.js', import.meta.url);
const source = new URL('../src/cli/cli.ts', import.meta.url);
const { run } = await import(existsSync(source) ? source.href : compiled.href);
await run(words, process.env);
