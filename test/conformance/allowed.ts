import type { Endpoint } from './subjects.ts';
import type { Requirements } from './suite.ts';

/** A scenario that may pass fewer checks through the gateway than directly, and why that cannot be otherwise. */
export interface AllowedDifference {
  requirements?: Requirements;
  upstream?: string;
  endpoint?: Endpoint;
  scenario: RegExp;
  reason: string;
}

/** What the suite itself causes: it expects the names and the list of its own server. */
const causedBySuite: AllowedDifference[] = [
  {
    endpoint: 'all',
    scenario: /^json-schema-2020-12$/,
    reason: 'the suite looks for a tool by the name of its own server; at /mcp the name begins with the server',
  },
  {
    endpoint: 'all',
    scenario: /^http-header-validation$/,
    reason: 'the suite calls the first tool of the list without arguments; at /mcp it is the query, which needs some',
  },
  {
    upstream: 'everything',
    scenario: /^tools-call-(simple-text|error)$/,
    reason: 'the server lacks the tool; the suite takes its error text for the result, and refuses a JSON-RPC error',
  },
];

/** The direct run is of another server: one that speaks the era of the client. */
const causedByOtherEra: AllowedDifference[] = [
  {
    requirements: '2025-11-25',
    upstream: 'modern',
    scenario: /^server-sse-polling$/,
    reason: 'a modern server cannot close the stream of a request before it has answered',
  },
  {
    requirements: '2026-07-28',
    upstream: 'legacy',
    scenario: /^input-required-result-(basic-elicitation|ignore-extra-params)$/,
    reason: 'the suite expects the keys that its own modern server chose; requests of a legacy server have none',
  },
  {
    requirements: '2026-07-28',
    upstream: 'legacy',
    scenario: /^server-stateless$/,
    reason:
      'a legacy server hears of capabilities once per session, and the shared session has them all; what a client cannot answer is refused with -32021 when the server asks',
  },
];

export const allowedDifferences: readonly AllowedDifference[] = [...causedBySuite, ...causedByOtherEra];
