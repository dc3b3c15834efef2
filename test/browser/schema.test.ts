/** The form's idea of JSON Schema. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  isBlank,
  kindOf,
  optionsOf,
  type Schema,
  simplify,
  startValue,
  toRows,
  validate,
  withoutGaps,
} from '../../web/src/schema.ts';

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

  test('options have titles, however the schema says them: enumNames, oneOf or anyOf of constants', () => {
    const small = { value: 's', title: 'Small' };
    const large = { value: 'l', title: 'Large' };
    const constants = [
      { const: 's', title: 'Small' },
      { const: 'l', title: 'Large' },
    ];
    const schemas: Schema[] = [
      { type: 'string', enum: ['s', 'l'], enumNames: ['Small', 'Large'] },
      { type: 'string', oneOf: constants },
      { anyOf: constants },
    ];
    for (const schema of schemas) {
      assert.deepEqual([kindOf(schema), optionsOf(schema)], ['enum', [small, large]]);
      assert.deepEqual(validate('m', schema), { '': 'must be one of "s", "l"' });
      assert.deepEqual(validate('l', schema), {});
      assert.equal(kindOf({ type: 'array', items: schema }), 'multiple');
    }
    assert.equal(kindOf({ type: 'array', items: { $ref: '#/$defs/a' }, $defs: { a: { enum: [1] } } }), 'multiple');
    assert.deepEqual(validate(['s', 'm'], { type: 'array', items: { anyOf: constants }, minItems: 1 }), {
      1: 'must be one of "s", "l"',
    });
  });

  test('entries of a list that are empty are not sent and not counted', () => {
    const people = [undefined, { name: 'Ada', friends: [undefined] }];
    assert.deepEqual(withoutGaps({ to: 'Rome', people }), { to: 'Rome', people: [{ name: 'Ada', friends: [] }] });
    assert.deepEqual(validate({ to: 'Rome', people: [undefined] }, trip), { people: 'must have at least 1 entry' });
    assert.deepEqual([isBlank({ a: [{}] }), isBlank({ a: false }), isBlank([''])], [true, false, false]);
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
      people: 'must have at least 1 entry',
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
