import type { FixtureEra } from './fixture-server.ts';
import type { Requirements } from './suite.ts';

/** A scenario that may pass fewer checks through the gateway than directly, and why that cannot be otherwise. */
export interface AllowedDifference {
  requirements: Requirements;
  upstream: FixtureEra;
  scenario: RegExp;
  reason: string;
}

const jsonReason =
  'nothing streams, so the answer is plain JSON, and the suite then has no stream to check (it reports INFO, not a failure)';
const pausedReason = 'a modern server cannot close the stream of a request before it has answered';
const keyReason = 'the suite expects the keys that its own modern server chose; requests of a legacy server have none';

export const allowedDifferences: AllowedDifference[] = [
  ...(['legacy', 'modern'] as const).map(
    (upstream): AllowedDifference => ({
      requirements: '2025-11-25',
      upstream,
      scenario: /^server-sse-multiple-streams$/,
      reason: jsonReason,
    }),
  ),
  { requirements: '2025-11-25', upstream: 'modern', scenario: /^server-sse-polling$/, reason: pausedReason },
  {
    requirements: '2026-07-28',
    upstream: 'legacy',
    scenario: /^input-required-result-(basic-elicitation|ignore-extra-params)$/,
    reason: keyReason,
  },
  {
    requirements: '2026-07-28',
    upstream: 'legacy',
    scenario: /^server-stateless$/,
    reason:
      'a legacy server hears of capabilities once per session, and the shared session has them all; what a client cannot answer is refused with -32021 when the server asks',
  },
  {
    requirements: '2026-07-28',
    upstream: 'legacy',
    scenario: /^tasks-/,
    reason: 'the tasks extension exists only since 2026-07-28; a legacy server has none to offer',
  },
];
