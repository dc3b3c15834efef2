/** What the steps of `setup` and of `setup --undo` share. */
import { CommandFailure } from './exit-code.ts';
import type { TargetFlags } from './target.ts';
import type { Terminal } from './terminal.ts';

export interface SetupFlags {
  yes?: boolean;
  dryRun?: boolean;
  undo?: boolean;
  service: boolean;
}

export interface Setup {
  flags: TargetFlags;
  options: SetupFlags;
  environment: NodeJS.ProcessEnv;
  terminal: Terminal;
  dataDir: string;
  modules: typeof import('./connected-client.ts') &
    typeof import('./import-plan.ts') &
    typeof import('./client-check.ts');
}

export async function confirm({ options, terminal }: Setup, question: string): Promise<void> {
  if (options.yes) return;
  if (!terminal.canAsk)
    throw new CommandFailure('usage', 'Nothing was changed: confirm with --yes, or preview with --dry-run.');
  if (!(await terminal.confirm(question))) throw new CommandFailure('failed', 'Nothing was changed.');
}
