import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exampleOf, parameterNames, signatureOf } from '../../src/cli/tool-signature.ts';

const tool = {
  name: 'git.create_issue',
  input_schema: {
    type: 'object',
    $defs: { label: { type: 'string', enum: ['bug', 'idea'] } },
    properties: {
      body: { type: 'string' },
      repo: { type: 'string' },
      labels: { type: 'array', items: { $ref: '#/$defs/label' } },
      priority: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      mode: { const: 'fast' },
      any: true,
      either: { type: ['string', 'number'] },
    },
    required: ['repo'],
  },
};

test('a tool as a person reads it', () => {
  assert.equal(
    signatureOf(tool),
    'git.create_issue(repo: string, body?: string, labels?: ("bug" | "idea")[], priority?: integer | null, mode?: "fast", any?: any, either?: string | number)',
  );
  assert.equal(parameterNames(tool), 'repo, body?, labels?, priority?, mode?, any?, either?');
  assert.equal(exampleOf(tool), 'mcp-aggregator call git.create_issue repo=…');
});

test('schemas that refer to themselves end', () => {
  const endless = { type: 'object', properties: { next: { type: 'array', items: { $ref: '#/properties/next' } } } };
  assert.equal(signatureOf({ name: 'a', input_schema: endless }), 'a(next?: …[][][][][])');
});
