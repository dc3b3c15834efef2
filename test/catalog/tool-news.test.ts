import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withNews } from '../../src/catalog/tool-diff.ts';
import type { ToolRow } from '../../src/store/schema.ts';

/** Only these columns matter for whether a row is replaced. */
const row = (id: string, definition_hash: string, skills: string[]) =>
  ({ id, definition_hash, skills }) as never as ToolRow;

test('what was learned about a tool does not bring back a definition that its server changed meanwhile', () => {
  const own = [row('1', 'new', []), row('2', 'same', []), row('3', 'same', ['mail'])];
  const news = [row('1', 'old', ['files']), row('2', 'same', ['web']), row('9', 'gone', ['web'])];
  assert.deepEqual(withNews(own, news), [row('1', 'new', []), row('2', 'same', ['web']), row('3', 'same', ['mail'])]);
});
