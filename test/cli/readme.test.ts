import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { configurationPage } from '../../scripts/settings-table.ts';
import { createProgram } from '../../src/cli/cli.ts';
import { exitCodes } from '../../src/cli/exit-code.ts';
import { settings } from '../../src/config/settings.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('docs/configuration.md has every setting, as src/config/settings.ts describes them', () => {
  const page = read('docs/configuration.md');
  assert.equal(page, configurationPage(), 'run: npm run reference');
  for (const { env } of Object.values(settings)) assert.ok(page.includes(`| \`${env}\` |`), env);
});

test('no other page has a table of settings', () => {
  for (const name of readdirSync(new URL('../../docs/', import.meta.url))) {
    if (!name.endsWith('.md') || name === 'configuration.md') continue;
    assert.doesNotMatch(read(`docs/${name}`), /^\| `MCP_AGGREGATOR_PORT` \|/m, name);
  }
});

test('docs/command-line.md lists every exit code and every command', () => {
  const page = read('docs/command-line.md');
  for (const { code, meaning } of Object.values(exitCodes)) assert.ok(page.includes(`| ${code} | ${meaning} |`));
  const hidden = new Set(['help', 'version', 'complete']);
  for (const command of createProgram({}).commands.map((one) => one.name()))
    assert.ok(hidden.has(command) || new RegExp(`^\\|.*\`${command}\\b`, 'm').test(page), command);
});
