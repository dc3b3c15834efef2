#!/usr/bin/env -S node --disable-warning=ExperimentalWarning --max-semi-space-size=16
// A call leaves nothing behind, so that a smaller young generation costs little and takes 80 MB less under load.
// Plain JavaScript, so that a Node too old for the rest still gets a sentence instead of a syntax error.
import { existsSync } from 'node:fs';
import module from 'node:module';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 13)) {
  console.error(
    `mcp-aggregator needs Node 22.13 or newer; this is Node ${process.versions.node}. Install a newer one from https://nodejs.org.`,
  );
  process.exit(1);
}

module.enableCompileCache?.();
const compiled = new URL('../dist/cli/cli.js', import.meta.url);
const source = new URL('../src/cli/cli.ts', import.meta.url);
const { run } = await import(existsSync(source) ? source.href : compiled.href);
await run(process.argv.slice(2), process.env);
