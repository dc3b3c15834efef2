import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRefinement, toTraits } from '../../src/search/refine.ts';
import { dot } from '../../src/similarity/cosine.ts';
import { embedder, sampleTool } from './sample-tools.ts';

const evidence = { similarity: 0.5, covered: 0.5, serverSimilarity: 0, serverCovered: 0 };
const matcher = embedder.createTokenMatcher();

function relevances(text: string, tools: [string, string][]): number[] {
  const traits = tools.map(([name, says]) => toTraits(sampleTool(1, 'server', name, says), embedder.tokensOf));
  const refinement = createRefinement({ text, tokens: embedder.tokensOf(text) }, traits, matcher);
  return traits.map((tool) => refinement.relevance(tool, evidence));
}

test('refine: an action of another kind costs, one of the same kind does not', () => {
  const [remove = 0, create = 0] = relevances('delete the branch', [
    ['delete_branch', 'Remove a branch'],
    ['create_branch', 'Create a branch'],
  ]);
  assert.ok(remove > create + 0.9);
});

test('refine: every word counts by its nearest word, so that a paraphrase in the name is found', () => {
  const [mail = 0, picture = 0] = relevances('write a message to my boss', [
    ['send_email', 'Send an email'],
    ['rotate_image', 'Rotate an image'],
  ]);
  assert.ok(mail > picture);
});

test('refine: a text without a known word, and a tool without one, are no error', () => {
  for (const relevance of relevances('', [['x', '']])) assert.ok(Number.isFinite(relevance));
  for (const relevance of relevances('\u{1F600}', [['\u{1F600}', '\u{1F600}']])) assert.ok(Number.isFinite(relevance));
});

test('tokens: the cosines are those of the tokens on their own', () => {
  const [request, others] = [embedder.tokensOf('message team'), embedder.tokensOf('team mail picture')];
  const { cosines } = matcher.compare(request, others);
  const words = ['team', 'mail', 'picture'];
  for (const [place, word] of words.entries()) {
    const expected = dot(embedder.embedText('message'), embedder.embedText(word));
    assert.ok(Math.abs((cosines[place] ?? 0) - expected) < 1e-4, word);
  }
});
