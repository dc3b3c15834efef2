/** Of lists that another replica stored: what clients are told to read again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Items } from '../../src/catalog/server-lists.ts';
import { changedItems } from '../../src/catalog/stored-lists.ts';

const none: Items = { prompt: [], resource: [], resource_template: [], skill: [] };
const item = (key: string) => ({ key, definition: { name: key } });

test('a changed kind is told as the list that clients know', () => {
  const rows: [title: string, before: Items, after: Items, prompts: boolean, resources: boolean][] = [
    ['nothing', none, none, false, false],
    ['the same in other objects', { ...none, prompt: [item('a')] }, { ...none, prompt: [item('a')] }, false, false],
    ['a prompt', none, { ...none, prompt: [item('a')] }, true, false],
    ['a resource', none, { ...none, resource: [item('a')] }, false, true],
    ['a template', { ...none, resource_template: [item('a')] }, none, false, true],
    ['a skill', { ...none, skill: [item('a')] }, { ...none, skill: [item('b')] }, false, true],
    ['a prompt and a skill', none, { ...none, prompt: [item('a')], skill: [item('b')] }, true, true],
  ];
  for (const [title, before, after, prompts, resources] of rows)
    assert.deepEqual(changedItems(before, after), { prompts, resources }, title);
});
