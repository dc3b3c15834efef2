/** `setup --undo`: the files of the clients as they were, and nothing left of what was started and stored. */
import { existsSync, rmSync } from 'node:fs';
import type { ServerList } from './answers.ts';
import { ensureRunning, stopRunning } from './background.ts';
import { api, type Client, createClient, serverPath } from './client.ts';
import { defaultName } from './commands/connect-client.ts';
import { CommandFailure } from './exit-code.ts';
import { installationIn } from './own-program.ts';
import { serviceOf, uninstallService } from './service.ts';
import { confirm, type Setup } from './setup-context.ts';
import { forgetSetup, readSetup, type SetupState } from './setup-state.ts';

export async function undo(setup: Setup): Promise<void> {
  const { dataDir, terminal, flags, environment, modules } = setup;
  const state = existsSync(dataDir) ? readSetup(dataDir) : undefined;
  if (state === undefined) {
    if (terminal.json) return terminal.printJson({ undone: false });
    return terminal.print('setup did nothing here that could be taken back.');
  }
  const files = state.clients.map((id) => modules.openClientFile(modules.findClient(id), defaultName, environment));
  if (!terminal.json) for (const at of files) modules.showDifference(at, modules.restoredText(at) ?? '', terminal);
  if (setup.options.dryRun) return terminal.note('Nothing was changed.');
  await confirm(setup, 'Take it back?');
  const client = createClient(
    await terminal.progress('starting the aggregator', () => ensureRunning(flags, environment)),
  );
  for (const at of files) {
    const token = modules.tokenIn(modules.ownEntry(at));
    modules.restore(at);
    await modules.revokeToken(client, token);
  }
  for (const id of state.servers) await removeServer(client, id);
  const others = (await client.get<ServerList>(`${api}/servers?limit=1`)).total;
  if (state.service) uninstallService(serviceOf(dataDir, environment), environment);
  if (state.started || state.service)
    await terminal.progress('stopping the aggregator', () => stopRunning(flags, environment));
  forgetSetup(dataDir);
  rmSync(installationIn(dataDir), { recursive: true, force: true });
  // What was added since is not ours to delete.
  const isGone = state.createdDataDir && others === 0;
  if (isGone) rmSync(dataDir, { recursive: true, force: true });
  if (terminal.json) return terminal.printJson({ undone: true, data_directory_removed: isGone });
  terminal.print(`Everything is as it was before${isGone ? '.' : leftOver(state, dataDir, others)}`);
}

function leftOver({ createdDataDir }: SetupState, dataDir: string, servers: number): string {
  if (!createdDataDir) return `; ${dataDir} existed before and stays.`;
  return `, except ${dataDir}, which has ${servers === 1 ? '1 other server' : `${servers} other servers`}.`;
}

async function removeServer(client: Client, id: string): Promise<void> {
  try {
    await client.delete(serverPath(id));
  } catch (error) {
    // It was removed since.
    if (!(error instanceof CommandFailure) || error.exit !== 'notFound') throw error;
  }
}
