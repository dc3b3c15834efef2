import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createSearchAttribution } from '../../src/routing/search-attribution.ts';
import { createMask } from '../../src/security/mask.ts';

suite('the search that a tool was chosen from', () => {
  const plain = createMask([]);

  test('the newest search that returned the tool, with its place; tools that share a place have the same', () => {
    const choices = createSearchAttribution(plain);
    assert.equal(choices.find('ann', 'mail.send'), undefined);
    choices.searched('ann', 'write to bob', [['mail.send', 'post.send'], ['chat.post']]);
    assert.deepEqual(choices.find('ann', 'post.send'), { query: 'write to bob', rank: 1 });
    assert.deepEqual(choices.find('ann', 'chat.post'), { query: 'write to bob', rank: 2 });
    choices.searched('ann', 'tell everybody', [['chat.post']]);
    choices.searched('ann', 'nothing fits this', []);
    assert.deepEqual(choices.find('ann', 'chat.post'), { query: 'tell everybody', rank: 1 });
    assert.deepEqual(choices.find('ann', 'mail.send'), { query: 'write to bob', rank: 1 });
    for (const [who, tool] of [
      ['bob', 'mail.send'],
      ['ann', 'mail.read'],
      [undefined, 'mail.send'],
    ] as const)
      assert.equal(choices.find(who, tool), undefined);
  });

  test('it is forgotten after ten minutes, after four more searches, and after a thousand others searched', () => {
    let now = 0;
    const choices = createSearchAttribution(plain, () => now);
    choices.searched('ann', 'first', [['a.a']]);
    now += 600_000;
    assert.deepEqual(choices.find('ann', 'a.a'), { query: 'first', rank: 1 });
    now += 1;
    assert.equal(choices.find('ann', 'a.a'), undefined);

    choices.searched('ann', 'first', [['a.a']]);
    for (const n of [1, 2, 3]) choices.searched('ann', `more ${n}`, [['b.b']]);
    assert.equal(choices.find('ann', 'a.a')?.query, 'first');
    choices.searched('ann', 'more 4', [['b.b']]);
    assert.equal(choices.find('ann', 'a.a'), undefined);

    for (let n = 1; n < 1_000; n++) choices.searched(`other ${n}`, 'x', [['c.c']]);
    assert.equal(choices.find('ann', 'b.b')?.query, 'more 4');
    choices.searched('one more', 'x', [['c.c']]);
    assert.equal(choices.find('ann', 'b.b'), undefined);
    assert.equal(choices.find('other 1', 'c.c')?.query, 'x');
  });

  test('long queries are cut, and a secret at the cut is hidden before', () => {
    const choices = createSearchAttribution(createMask(['a-secret-of-some-length']));
    choices.searched('ann', `${'x'.repeat(990)}a-secret-of-some-length`, [['a.a']]);
    assert.equal(choices.find('ann', 'a.a')?.query, `${'x'.repeat(990)}***`);
    choices.searched('ann', 'y'.repeat(10_000), [['a.a']]);
    assert.equal(choices.find('ann', 'a.a')?.query.length, 1_000);
  });
});
