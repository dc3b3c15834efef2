import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createChanges } from '../src/changes.ts';

suite('topics within one process', () => {
  test('a change reaches the subscribers of its topic, in their order, before publish returns', () => {
    const changes = createChanges();
    const seen: string[] = [];
    changes.subscribe('principal.ended', ({ principal_id }) => seen.push(`first ${principal_id}`));
    changes.subscribe('principal.ended', ({ principal_id }) => seen.push(`second ${principal_id}`));
    changes.subscribe('server.removed', () => seen.push('another topic'));
    changes.publish('principal.ended', { principal_id: 'p' });
    assert.deepEqual(seen, ['first p', 'second p']);
  });

  test('a subscription ends once its function is called; the others stay', () => {
    const changes = createChanges();
    const seen: string[] = [];
    const off = changes.subscribe('principal.ended', () => seen.push('first'));
    changes.subscribe('principal.ended', () => seen.push('second'));
    off();
    changes.publish('principal.ended', { principal_id: 'p' });
    assert.deepEqual(seen, ['second']);
  });
});
