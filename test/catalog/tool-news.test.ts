import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withNews } from '../../src/catalog/tool-diff.ts';
import type { ToolRow } from '../../src/store/schema.ts';

/** Only these columns matter for what is taken over. */
const row = (id: number, definition_hash: string, skill_ids: string[], description = '') =>
  ({
    id,
    definition_hash,
    description,
    skill_ids,
    primary_skill_id: skill_ids[0] ?? null,
    skill_confidences: {},
    is_classified: skill_ids.length > 0,
    classification_state: 'CLASSIFIED',
  }) as ToolRow;

test('what was learned about a tool does not bring back a definition that its server changed meanwhile', () => {
  const own = [row(1, 'new', []), row(2, 'same', []), row(3, 'same', ['mail'])];
  const news = [row(1, 'old', ['files']), row(2, 'same', ['web'], 'as it is offered'), row(9, 'gone', ['web'])];
  assert.deepEqual(withNews(own, news), [row(1, 'new', []), row(2, 'same', ['web']), row(3, 'same', ['mail'])]);
});
