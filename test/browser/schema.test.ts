/** The form's idea of JSON Schema. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { kindOf, type Schema, simplify, startValue, toRows, validate } from '../../web/src/schema.ts';

const trip: Schema = {
  type: 'object',
  properties: {
    to: { type: 'string', minLength: 2 },
    days: { type: 'integer', minimum: 1, default: 3 },
    kind: { enum: ['work', 'fun'] },
    people: { type: 'array', minItems: 1, items: { $ref: '#/$defs/person' } },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    price: { oneOf: [{ type: 'number' }, { type: 'string', pattern: '^\\d+ EUR$' }] },
  },
  required: ['to', 'people'],
  additionalProperties: false,
  $defs: {
    person: {
      type: 'object',
      properties: { name: { type: 'string' }, friends: { type: 'array', items: { $ref: '#/$defs/person' } } },
      required: ['name'],
    },
  },
};

suite('schemas as forms', () => {
  test('a form starts with defaults and with what must be there', () => {
    assert.deepEqual(startValue(trip, trip), { days: 3, people: [] });
  });

  test('"string or null" is a string that may be left out; several forms are a choice', () => {
    assert.equal(kindOf(simplify(trip.properties?.note ?? {}, trip)), 'string');
    assert.equal(kindOf(simplify(trip.properties?.price ?? {}, trip)), 'choice');
    assert.equal(kindOf(simplify(trip.properties?.kind ?? {}, trip)), 'enum');
  });

  test('every problem has its place', () => {
    assert.deepEqual(validate({ days: 0, kind: 'rest', people: [{}], other: 1, price: 'much' }, trip), {
      to: 'is required',
      days: 'must be at least 1',
      kind: 'must be one of "work", "fun"',
      'people.0.name': 'is required',
      other: 'is not known to the tool',
      price: 'fits none of the possible forms',
    });
    assert.deepEqual(
      validate({ to: 'Rome', people: [{ name: 'Ada', friends: [{ name: 'Bo' }] }], price: '5 EUR' }, trip),
      {},
    );
    assert.deepEqual(validate({ to: 'R', people: [] }, trip), {
      to: 'must have at least 2 characters',
      people: 'must have at least 1 entries',
    });
  });

  test('a schema that refers to itself ends', () => {
    const loop: Schema = { $ref: '#' };
    assert.deepEqual(simplify(loop, loop), {});
    const rows = toRows(trip).map(({ path }) => path);
    assert.ok(rows.includes('people[].name') && rows.includes('people[].friends[].name'));
  });

  test('a pattern that could freeze the page is left for the server', () => {
    const hostile = [
      '^(a+)+$',
      '(a|a)*b',
      '(?=a+)+b',
      '^(a?){30}a{30}$',
      'a*a*a*a*a*b',
      `${'a?'.repeat(30)}${'a'.repeat(30)}`,
      '(\\w+\\s?)+!',
      '(a+)\\1+b',
    ];
    for (const pattern of hostile) {
      assert.deepEqual(validate(`${'a'.repeat(40)}!`, { type: 'string', pattern }, {}), {}, pattern);
    }
    const long = 'a'.repeat(100_000);
    assert.deepEqual(validate(long, { type: 'string', pattern: '[ab]*c' }, {}), {});
    const harmless = [
      '^\\d{4}-\\d{2}-\\d{2}$',
      '^[A-Z]{2,5}$',
      '^(?:red|green)$',
      '^https?://',
      '^(ab)+$',
      '^[\\]a]+b?$',
    ];
    for (const pattern of harmless) {
      assert.equal(Object.values(validate('??', { type: 'string', pattern }, {}))[0], `must match ${pattern}`);
    }
  });
});
