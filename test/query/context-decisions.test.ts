/** what the context agent decides without a model: what a call means, when it ends, where citations lead. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CitedSource, citationsIn, cutToTokens, withKnownMarks } from '../../src/query/citations.ts';
import { boundReached } from '../../src/query/context-agent.ts';
import { parseAction } from '../../src/query/context-model.ts';
import { estimateTokens } from '../../src/query/results/tokens.ts';

const limits = { rounds: 6, calls: 12, timeMs: 60_000, tokens: 1_000, callTimeoutMs: 10_000 };
const bounds: [rounds: number, calls: number, input: number, output: number, bound: string | undefined][] = [
  [0, 0, 0, 0, undefined],
  [5, 11, 500, 499, undefined],
  [6, 0, 0, 0, 'rounds'],
  [0, 12, 0, 0, 'calls'],
  [0, 0, 500, 500, 'tokens'],
  [6, 12, 500, 500, 'rounds'],
];
for (const [rounds, calls, inputTokens, outputTokens, bound] of bounds) {
  test(`Q-017: ${rounds} rounds, ${calls} calls, ${inputTokens + outputTokens} tokens: ${bound ?? 'goes on'}`, () => {
    assert.equal(boundReached({ rounds, calls, inputTokens, outputTokens }, limits), bound);
  });
}

const actions: [name: string, input: unknown, kind: string, problem?: RegExp][] = [
  ['ask_servers', { query: 'who' }, 'ask_servers'],
  ['ask_servers', {}, 'refused', /needs a query/],
  ['search_tools', { query: 'who' }, 'search_tools'],
  ['search_tools', { query: '' }, 'refused', /needs a query/],
  ['call_tool', { server: 's', tool: 't' }, 'call_tool'],
  ['call_tool', { server: 's' }, 'refused', /needs server, tool and arguments/],
  ['read_resource', { server: 's', uri: 'x:y' }, 'read_resource'],
  ['read_resource', 'x:y', 'refused', /needs server and uri/],
  ['give_context', { context: 'x' }, 'refused', /the mark of its source/],
  ['delete_everything', {}, 'refused', /no such tool/],
];
for (const [name, input, kind, problem] of actions) {
  test(`Q-017: ${name} with ${JSON.stringify(input)} is ${kind}`, () => {
    const action = parseAction(name, input);
    assert.equal(action.kind, kind);
    if (problem !== undefined) assert.match(action.kind === 'refused' ? action.problem : '', problem);
  });
}

const marks: [context: string, sources: number, kept: string][] = [
  ['It rains [S1].', 1, 'It rains [S1].'],
  ['It rains [S2].', 1, 'It rains .'],
  ['It rains [S0, S1,S2, S9].', 2, 'It rains [S1, S2].'],
  ['It rains [S1', 1, 'It rains [S1'],
];
for (const [context, sources, kept] of marks) {
  test(`Q-017: of ${sources} sources, "${context}" keeps "${kept}"`, () => {
    assert.equal(withKnownMarks(context, sources), kept);
  });
}

test('Q-017: citations are the sources that the context names, in the order of their marks', () => {
  const source = (server: string, more: Partial<CitedSource> = {}) => ({ server, tool: 'find', content: '', ...more });
  const sources = [source('a'), source('b', { title: 'B' }), source('c', { link: 'https://c' })];
  assert.deepEqual(citationsIn('Third [S3], first [S1]; third again [S1, S3].', sources), [
    { source: 'S1', server: 'a', tool: 'find' },
    { source: 'S3', server: 'c', tool: 'find', link: 'https://c' },
  ]);
  assert.deepEqual(citationsIn('Nothing.', sources), []);
});

test('Q-017: a context keeps to its budget', () => {
  const text = 'word '.repeat(1_000);
  assert.equal(cutToTokens('short', 200), 'short');
  const cut = cutToTokens(text, 200);
  assert.ok(cut.endsWith('…'));
  assert.ok(estimateTokens(cut.slice(0, -1)) <= 200);
});
