/** What a classifier reads of a tool and its server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DescribedServer, toToolToClassify } from '../../src/skills/tool-to-classify.ts';
import type { ToolRow } from '../../src/store/schema.ts';

const row = (more: Partial<ToolRow> = {}) => ({
  id: 1,
  original_name: 'x',
  title: null,
  description: null,
  input_schema: {},
  ...more,
});
const server = (more: Partial<DescribedServer> = {}): DescribedServer => ({
  name: 'a',
  description: null,
  server_info: null,
  instructions: null,
  ...more,
});

test('SKL-002: the input schema is summarised: names, types, values and descriptions', () => {
  const input_schema = {
    properties: {
      path: { type: 'string', description: 'Where it is' },
      limit: { type: 'integer' },
      order: { type: 'string', enum: ['up', 'down'] },
      more: true,
    },
    required: ['path'],
  };
  const { parameters } = toToolToClassify(row({ input_schema }), server());
  assert.equal(parameters, 'path: string (Where it is), limit?: integer, order?: "up" | "down", more?: any');
  assert.equal(toToolToClassify(row(), server()).parameters, '');
});

test('SKL-002: the summary of a hostile schema is bounded', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, at) => [
      `p${at}`,
      { enum: ['x'.repeat(10_000)], description: 'y'.repeat(10_000) },
    ]),
  );
  assert.ok(toToolToClassify(row({ input_schema: { properties } }), server()).parameters.length < 10_000);
});

test('SKL-002: the description that the admin gave a server counts before that of the server', () => {
  const said = (more: Partial<DescribedServer>) => toToolToClassify(row(), server(more)).server.description;
  const server_info = { title: 'Mailer', description: 'Mail for teams' };
  assert.equal(said({}), '');
  assert.equal(said({ instructions: 'Read first' }), 'Read first');
  assert.equal(said({ server_info, instructions: 'Read first' }), 'Mailer: Mail for teams');
  assert.equal(said({ server_info, description: 'Our mail' }), 'Mailer: Our mail');
  assert.equal(said({ description: 'x'.repeat(10_000) }).length, 500);
  assert.deepEqual(toToolToClassify(row(), undefined).server, { name: '', description: '' });
});
