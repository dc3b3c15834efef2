import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createChanges, type ReplicatedChange } from '../src/changes.ts';
import { fromNotice, toNotice } from '../src/replicas/notice.ts';

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

suite('topics between replicas', () => {
  /** Two replicas; what one sends is kept until the other one takes it. */
  function connect() {
    const here = createChanges();
    const there = createChanges();
    const sent: ReplicatedChange[] = [];
    here.sendTo((change) => sent.push(change));
    return { here, there, sent, deliverNext: () => there.deliver(sent.shift() as ReplicatedChange) };
  }

  test('a replicated topic goes to the subscribers here and to the followers there', async () => {
    const { here, there, sent, deliverNext } = connect();
    const seen: string[] = [];
    here.subscribe('server.stored', ({ server_id }) => seen.push(`subscriber here ${server_id}`));
    here.follow('server.stored', () => seen.push('follower here'));
    there.subscribe('server.stored', () => seen.push('subscriber there'));
    there.follow('server.stored', ({ server_id }) => seen.push(`follower there ${server_id}`));
    here.publish('server.stored', { server_id: 's' });
    assert.deepEqual(seen, ['subscriber here s']);
    await deliverNext();
    assert.deepEqual(seen, ['subscriber here s', 'follower there s']);
    assert.deepEqual(sent, []);
  });

  test('a local topic goes to no other replica', () => {
    const { here, sent } = connect();
    here.publish('principal.ended', { principal_id: 'p' });
    assert.deepEqual(sent, []);
  });

  test('followers are called one after the other; one that fails ends the delivery, so that it is repeated', async () => {
    const { here, there, deliverNext } = connect();
    const seen: string[] = [];
    there.follow('tokens.stored', async () => {
      await new Promise(setImmediate);
      seen.push('first');
    });
    there.follow('tokens.stored', () => Promise.reject(new Error('the database is away')));
    there.follow('tokens.stored', () => seen.push('never'));
    here.publish('tokens.stored', {});
    await assert.rejects(deliverNext(), /the database is away/);
    assert.deepEqual(seen, ['first']);
  });

  test('a replaced store is read again here before the others are told', async () => {
    const { here, sent } = connect();
    const seen: string[] = [];
    here.follow('store.replaced', async () => {
      await new Promise(setImmediate);
      seen.push(`read, ${sent.length} sent`);
    });
    await here.publishReplacedStore();
    assert.deepEqual(seen, ['read, 0 sent']);
    assert.deepEqual(sent, [{ topic: 'store.replaced', payload: {} }]);
  });

  test('a notice is a topic with its payload; others, our own and broken ones are ignored', () => {
    const change: ReplicatedChange = { topic: 'discovery.requested', payload: { server_id: 's', kinds: ['tool'] } };
    assert.deepEqual(fromNotice(toNotice('a', change), 'b'), change);
    assert.equal(fromNotice(toNotice('a', change), 'a'), undefined);
    for (const text of [
      '',
      'null',
      '[]',
      JSON.stringify({ from: 'a', topic: 'principal.ended', payload: { principal_id: 'p' } }),
      JSON.stringify({ from: 'a', topic: 'constructor', payload: {} }),
      JSON.stringify({ from: 'a', topic: 'server.stored', payload: { server_id: 1 } }),
      JSON.stringify({ from: 'a', topic: 'server.stored' }),
    ]) {
      assert.equal(fromNotice(text, 'b'), undefined, text);
    }
  });
});
