import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { exitCodes } from '../../src/cli/exit-code.ts';
import { flagOf } from '../../src/config/config.ts';
import { type SettingName, settings } from '../../src/config/settings.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

test('README lists every setting with its flag and meaning', () => {
  for (const [name, { env, help }] of Object.entries(settings)) {
    const begin = `| \`${env}\` | \`--${flagOf(name as SettingName)}\` |`;
    const found = readme.split('\n').some((line) => line.startsWith(begin) && line.endsWith(`| ${help} |`));
    assert.ok(found, `README.md needs the row: ${begin} default | ${help} |`);
  }
});

test('README lists every exit code', () => {
  for (const { code, meaning } of Object.values(exitCodes)) assert.ok(readme.includes(`| ${code} | ${meaning} |`));
});
