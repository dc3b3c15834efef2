/**
 * A closer look at the best candidates: each word of the request against each word of a tool's name and first sentence,
 * what the tool's server explains of the request, and what kind of action it takes. Scanning every tool this way would
 * take too long.
 */
import { actionsOf, firstAction } from './actions.ts';
import { toTerms } from './lexical.ts';
import type { TokenMatcher } from './token-matcher.ts';
import type { SearchableTool } from './tool.ts';
import { toDescription } from './tool.ts';

/** What of a tool is compared, prepared once. */
export interface ToolTraits {
  /** Tokens of its name and then of the first sentence of its description. */
  tokens: Uint16Array;
  nameLength: number;
  actions: readonly string[];
}

const maxTokens = 40;
const maxRequestTokens = 40;

export function toTraits(tool: SearchableTool, tokensOf: (text: string) => number[]): ToolTraits {
  const [sentence = ''] = toDescription(tool)
    .slice(0, 600)
    .split(/(?<=[.!?])\s|\n/, 1);
  const name = tokensOf(tool.originalName).slice(0, maxTokens);
  return {
    tokens: Uint16Array.from([...name, ...tokensOf(sentence)].slice(0, maxTokens)),
    nameLength: name.length,
    actions: actionsOf([toTerms(tool.originalName)[0], toTerms(sentence)[0]]),
  };
}

/** All between 0 and 1, or nearly so. */
interface CoarseEvidence {
  similarity: number;
  covered: number;
  serverSimilarity: number;
  serverCovered: number;
}

interface Refinement {
  relevance(traits: ToolTraits, evidence: CoarseEvidence): number;
}

/** A softmax fit over the candidates of half of the development requests, rounded; docs/search.md. */
const weights = {
  similarity: 10,
  covered: 5,
  serverSimilarity: 2.3,
  serverCovered: 3.4,
  otherAction: -0.9,
  nameInRequest: 1.8,
  requestInLead: 4,
};

export function createRefinement(
  request: { text: string; tokens: readonly number[]; hasSteps?: boolean },
  candidates: readonly ToolTraits[],
  matcher: TokenMatcher,
): Refinement {
  const tokens = [...new Set(request.tokens)].slice(0, maxRequestTokens);
  const others = [...new Set(candidates.flatMap((traits) => [...traits.tokens]))];
  const places = new Map(others.map((token, place) => [token, place]));
  const { cosines, weights: tokenWeights, otherWeights } = matcher.compare(tokens, others);
  // The verb of the first step says nothing of the others.
  const action = request.hasSteps ? undefined : firstAction(toTerms(request.text));
  /** By place of the tool's token: the most similar token of the request. */
  const nearest = new Float32Array(others.length);
  for (let token = 0; token < tokens.length; token++) {
    for (let other = 0; other < others.length; other++)
      nearest[other] = Math.max(nearest[other] as number, cosines[token * others.length + other] as number);
  }

  /** Weighted mean over the request's tokens: how near the nearest token of the tool is. */
  function requestIn(toolPlaces: readonly number[]): number {
    let sum = 0;
    let total = 0;
    for (let token = 0; token < tokens.length; token++) {
      const from = token * others.length;
      let best = 0;
      for (const place of toolPlaces) best = Math.max(best, cosines[from + place] as number);
      const weight = tokenWeights[token] as number;
      sum += weight * best;
      total += weight;
    }
    return total === 0 ? 0 : sum / total;
  }

  function nameIn(namePlaces: readonly number[]): number {
    let sum = 0;
    let total = 0;
    for (const place of namePlaces) {
      const weight = otherWeights[place] as number;
      sum += weight * (nearest[place] as number);
      total += weight;
    }
    return total === 0 ? 0 : sum / total;
  }

  return {
    relevance({ tokens: toolTokens, nameLength, actions }, evidence) {
      const toolPlaces = Array.from(toolTokens, (token) => places.get(token) as number);
      const isOther = action !== undefined && actions.length > 0 && !actions.includes(action);
      return (
        weights.similarity * evidence.similarity +
        weights.covered * evidence.covered +
        weights.serverSimilarity * evidence.serverSimilarity +
        weights.serverCovered * evidence.serverCovered +
        (isOther ? weights.otherAction : 0) +
        weights.nameInRequest * nameIn(toolPlaces.slice(0, nameLength)) +
        weights.requestInLead * requestIn(toolPlaces)
      );
    },
  };
}
