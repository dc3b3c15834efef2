import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { configurationPage, withMostUsedSettings } from '../../scripts/settings-table.ts';
import { createProgram } from '../../src/cli/cli.ts';
import { exitCodes } from '../../src/cli/exit-code.ts';
import { settings } from '../../src/config/settings.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const readme = read('README.md');

test('docs/configuration.md has every setting, README.md the ten most used, as src/config.ts describes them', () => {
  const page = read('docs/configuration.md');
  assert.equal(page, configurationPage(), 'run: npm run reference');
  for (const { env } of Object.values(settings)) assert.ok(page.includes(`| \`${env}\` |`), env);
  assert.equal(readme, withMostUsedSettings(readme), 'run: npm run reference');
  assert.equal(readme.match(/^\| `[A-Z_]+` \| `--/gm)?.length, 10);
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
