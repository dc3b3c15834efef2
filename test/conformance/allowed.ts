import type { FixtureEra } from './fixture-server.ts';
import type { Requirements } from './suite.ts';

/** A scenario that may pass fewer checks through the gateway than directly, and why that cannot be otherwise. */
export interface AllowedDifference {
  requirements: Requirements;
  upstream: FixtureEra;
  scenario: RegExp;
  reason: string;
}

export const allowedDifferences: AllowedDifference[] = [
  {
    requirements: '2026-07-28',
    upstream: 'legacy',
    scenario: /^tasks-/,
    reason: 'the tasks extension exists only since 2026-07-28; a legacy server has none to offer',
  },
];
