import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAnswer } from '../../../src/query/reading/answer.ts';
import { jsonPrefix } from '../../../src/query/reading/json-prefix.ts';
import { parsePythonLiteral } from '../../../src/query/reading/literal.ts';
import { text } from '../servers.ts';

test('every prefix parses, is within the limit and holds the first elements whole', () => {
  const rows = [{ a: 'x,y]"}' }, { b: '\\"[' }, { c: [1, { d: 2 }] }, { e: '🙂' }, { f: null }];
  for (const whole of [JSON.stringify(rows), JSON.stringify({ total: 5, rows, more: true })]) {
    let longest = 0;
    for (let max = 0; max < whole.length; max++) {
      const prefix = jsonPrefix(whole, max);
      if (prefix === undefined) continue;
      const parsed = JSON.parse(prefix);
      const found = Array.isArray(parsed) ? parsed : parsed.rows;
      assert.ok(prefix.length <= max + 2, `${prefix} within ${max}`);
      assert.ok(found.length >= longest);
      longest = found.length;
      assert.deepEqual(found, rows.slice(0, found.length));
    }
    assert.ok(longest >= 4);
  }
});

test('without a whole element there is no prefix', () => {
  for (const whole of ['[{"a": 1', '{"a": 1, "b": 2}', '"text"', '', '[[[['])
    assert.equal(jsonPrefix(whole, 100), undefined, whole);
});

test('an answer that is cut says so and keeps whole records', () => {
  const rows = Array.from({ length: 100 }, (_, id) => ({ id, name: `row ${id}` }));
  const { parts, truncated, receivedChars } = parseAnswer(text(JSON.stringify({ rows })), 1_000);
  const [part] = parts;
  assert.equal(truncated, true);
  assert.equal(receivedChars, JSON.stringify({ rows }).length);
  const records = part?.kind === 'records' ? (part.groups[0]?.records ?? []) : [];
  assert.ok(records.length > 10 && records.length < 100);
  assert.deepEqual(records, rows.slice(0, records.length));
});

test('what Python prints: texts with quotes, constants, tuples, calls', () => {
  assert.deepEqual(parsePythonLiteral(`[{'name': "O'Brien", 'left': None, 'ok': True}, (1, -2.5,), []]`), [
    { name: "O'Brien", left: null, ok: true },
    [1, -2.5],
    [],
  ]);
  assert.deepEqual(parsePythonLiteral(`[('it\\'s', datetime.date(2026, 3, 3))]`), [
    ["it's", 'datetime.date(2026, 3, 3)'],
  ]);
});

test('prose, an open bracket or a nest without end is no literal', () => {
  for (const written of ['(see below)', "['open", '[1 2]', '{1: 2', '[1] and more', '['.repeat(10_000)])
    assert.equal(parsePythonLiteral(written), undefined, written.slice(0, 20));
});

test('a key that means something to JavaScript is a key', () => {
  const record = parsePythonLiteral("{'__proto__': 'x', 'a': 1}") as Record<string, unknown>;
  assert.equal(Object.getPrototypeOf(record), Object.prototype);
  assert.deepEqual(Object.keys(record), ['__proto__', 'a']);
});
