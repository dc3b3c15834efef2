import { startHttpProgram } from '../support/servers/http-program.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { createFixtureProgram } from './fixture-program.ts';

export type FixtureEra = 'legacy' | 'modern' | 'dual';

/** The server that the conformance suite is run against, pinned to one era or speaking both. */
export function startFixtureServer({ era, port }: { era: FixtureEra; port?: number }): Promise<RunningServer> {
  return startHttpProgram(createFixtureProgram(), { transport: `streamable-${era}`, port });
}

if (import.meta.main) {
  const [era = 'dual', port = '0'] = process.argv.slice(2);
  const { url } = await startFixtureServer({ era: era as FixtureEra, port: Number(port) });
  console.log(url);
}
