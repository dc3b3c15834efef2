import { childProgram } from '../child-program.ts';
import { createFeatureProgram, type FeatureOptions } from './feature-program.ts';
import { type HttpOptions, startHttpProgram } from './http-program.ts';
import type { RunningServer } from './http-wire.ts';

export type { FeatureOptions } from './feature-program.ts';
export type { HttpTransport } from './http-program.ts';
export type { RunningServer } from './http-wire.ts';

/** The feature server over HTTP, in this process: `{transport: 'streamable-modern', label: 'a'}`. */
export function startFeatureServer(options: HttpOptions & FeatureOptions): Promise<RunningServer> {
  return startHttpProgram(createFeatureProgram(options), options);
}

/** How to start the feature server as a child on stdio: the command and arguments of a registration. */
export function stdioFeatureServer(
  era: 'legacy' | 'modern',
  options: FeatureOptions & { initializeDelayMs?: number } = {},
) {
  return childProgram(new URL(`./stdio-${era}.ts`, import.meta.url), JSON.stringify(options));
}
