#!/usr/bin/env node
// Plain JavaScript, so that a Node too old for the rest still gets a sentence instead of a syntax error.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { restartHidden, restoreEnvironment } from './hidden-environment.js';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `mcp-aggregator needs Node 22.18 or newer; this is Node ${process.versions.node}. Install a newer one from https://nodejs.org.`,
  );
  process.exit(1);
}

// SQLite is experimental in Node 22, which is nothing to tell a user.
const { emitWarning } = process;
process.emitWarning = (warning, ...rest) => {
  const type = typeof rest[0] === 'object' ? rest[0]?.type : rest[0];
  if (type !== 'ExperimentalWarning') emitWarning.call(process, warning, ...rest);
};

// The young generation holds what a few hundred calls need, so that it is collected seldom; while nothing is called, it
// shrinks (src/idle-collection.ts, which needs the last flag). With a smaller limit V8 collects the old generation
// sooner: a quarter less memory under load.
const flags = ['--max-semi-space-size=16', '--max-old-space-size=768', '--expose-gc'];

const words = process.argv.slice(2);
// The other commands start no servers.
const mayServe = words.length === 0 || words[0].startsWith('-') || words[0] === 'serve';
if (!restoreEnvironment() && mayServe) restartHidden(fileURLToPath(import.meta.url), words, flags);

module.enableCompileCache?.();
const compiled = new URL('../dist/cli/cli.js', import.meta.url);
const source = new URL('../src/cli/cli.ts', import.meta.url);
const { run } = await import(existsSync(source) ? source.href : compiled.href);
await run(words, process.env);
