/** The end of `setup`: what became of the servers, whether each client works, and what comes next. */
import { describe } from '../errors.ts';
import type { ServerList } from './answers.ts';
import { api, createClient } from './client.ts';
import { defaultName } from './commands/connect-client.ts';
import { report } from './commands/import.ts';
import type { ClientFile } from './connected-client.ts';
import { CommandFailure } from './exit-code.ts';
import type { ImportRow } from './import-plan.ts';
import type { Setup } from './setup-context.ts';
import type { Target } from './target.ts';

interface Check {
  client: string;
  ok: boolean;
  text: string;
  tools: readonly string[];
}

/** Proves that each client works, with one call, and says what comes next. */
export async function finish(
  setup: Setup,
  target: Target,
  clients: readonly ClientFile[],
  imported: readonly ImportRow[],
): Promise<void> {
  const { terminal } = setup;
  const client = createClient(target);
  const checks = await checkClients(setup, target, clients);
  const link = await client.post<{ path: string }>('/api/v1/session/links');
  const dashboard = `${client.url}${link.path}`;
  const isBroken = ({ outcome, state }: ImportRow) => outcome === 'invalid' || state?.isConnected === false;
  const broken = imported.filter(isBroken);
  if (terminal.json) {
    return terminal.printJson({
      url: client.url,
      dashboard,
      clients: checks.map(({ client: name, ok, text }) => ({ client: name, ok, text })),
      failed: broken.map(({ key, file, state, notes }) => ({
        key,
        file: file.path,
        reason: state?.text ?? notes.join('; '),
      })),
    });
  }
  if (imported.length > 0) report(imported, terminal);
  terminal.print('');
  for (const { client: title, ok, text } of checks)
    terminal.print(`${ok ? terminal.style('green', 'ok     ') : terminal.style('red', 'problem')}  ${title} ${text}`);
  const { servers } = await client.get<ServerList>(`${api}/servers?limit=1000`);
  const unreadable = broken.flatMap(({ key, file }) => (key === setup.modules.wholeFile ? [file.path] : []));
  for (const line of nextSteps({ clients, imported, broken, unreadable, checks, servers, url: client.url }))
    terminal.say(line);
  terminal.print(`Dashboard (the link works once): ${dashboard}`);
  terminal.say('To take everything back: mcp-aggregator setup --undo');
  if (checks.some(({ ok }) => !ok)) throw new CommandFailure('failed', 'A client does not work; see above.');
}

/** As each client does it; without clients, the endpoint itself. */
async function checkClients(
  { modules, environment }: Setup,
  target: Target,
  clients: readonly ClientFile[],
): Promise<Check[]> {
  const bearer = { Authorization: `Bearer ${await target.token()}` };
  const entries = clients.map(({ client }) => ({
    name: client.title,
    entry: modules.ownEntry(modules.openClientFile(client, defaultName, environment)) ?? {},
  }));
  const checks: Check[] = [];
  for (const { name, entry } of entries.length > 0
    ? entries
    : [{ name: 'The aggregator', entry: { url: `${target.url}/mcp`, headers: bearer } }]) {
    const verb = entries.length > 0 ? 'sees' : 'offers';
    const checked = await modules.checkEntry(entry, environment, { call: true }).then(
      ({ tools, called }) => ({
        ok: true,
        text: `${verb} ${tools.length} tools; a call of ${called} works`,
        tools,
      }),
      (error: unknown) => ({ ok: false, text: `does not work: ${describe(error)}`, tools: [] }),
    );
    checks.push({ client: name, ...checked });
  }
  return checks;
}

interface SetupOutcome {
  clients: readonly ClientFile[];
  imported: readonly ImportRow[];
  broken: readonly ImportRow[];
  /** Paths. */
  unreadable: readonly string[];
  checks: readonly Check[];
  servers: ServerList['servers'];
  url: string;
}

function nextSteps({ clients, imported, broken, unreadable, checks, servers, url }: SetupOutcome): string[] {
  const tools = servers.reduce((sum, { tool_count: count }) => sum + count, 0);
  const searching = checks.some(({ tools: seen }) => seen.includes('search_tools') && seen.length < tools);
  const edited = new Set(clients.map(({ file }) => file));
  const others = new Set(
    imported.flatMap(({ file: { path, client } }) => (edited.has(path) || unreadable.includes(path) ? [] : [client])),
  );
  const failed = broken.flatMap(({ key, file }) => (unreadable.includes(file.path) ? [] : [key]));
  return [
    ...(searching
      ? [
          `The servers have ${tools} tools. These are too many to list, so clients find and call them with search_tools and call_tool (MCP_AGGREGATOR_LIST_LIMIT).`,
        ]
      : []),
    ...(clients.length > 0 ? ['Restart your MCP clients to see the tools.'] : []),
    ...(failed.length > 0
      ? [
          `Left in their clients, because they did not connect: ${failed.join(', ')}. To repair one: mcp-aggregator edit <server>, then run setup again.`,
        ]
      : []),
    ...(unreadable.length > 0
      ? [`Not changed, because they cannot be read: ${unreadable.join(', ')}. Correct them, then run setup again.`]
      : []),
    ...(others.size > 0
      ? [
          `The files of ${[...others].join(', ')} are not changed by setup. To connect them: ${url}/mcp with a token of: mcp-aggregator token create <name>`,
        ]
      : []),
    ...(servers.length === 0 ? ['Add a server: mcp-aggregator add <name> -- <command>, or in the dashboard.'] : []),
  ];
}
