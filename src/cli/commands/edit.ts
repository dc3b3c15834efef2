import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { parseCommentedJson } from '../../commented-json.ts';
import { splitWords } from '../../security/command-output.ts';
import type { ServerDetail, ToolList } from '../answers.ts';
import { collect, toAssignments } from '../assignments.ts';
import { type Client, serverPath } from '../client.ts';
import { type AddCommand, type CommandContext, createContext } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { toNumber } from '../numbers.ts';
import { fromHere, type ServerOptionFlags, serverOptionsOf, withServerOptions } from '../server-options.ts';
import { awaitSettled } from '../settled.ts';
import { toTyped } from './call.ts';
import { reportSettled } from './connect.ts';

interface EditOptions extends ServerOptionFlags {
  description?: string;
  command?: string;
  arg?: string[];
  env?: string[];
  unsetEnv?: string[];
  dotenv?: string;
  header?: string[];
  unsetHeader?: string[];
  cwd?: string;
  healthUrl?: string;
  timeout?: string;
  maxCalls?: string;
  connect?: boolean;
  rename?: string;
  fix?: string[];
  unfix?: string[];
  hide?: string[];
  unhide?: string[];
  reset?: boolean;
}

type EditedConfig = Record<string, unknown>;

const serverFlags = [
  'command',
  'arg',
  'env',
  'unsetEnv',
  'dotenv',
  'header',
  'unsetHeader',
  'cwd',
  'healthUrl',
  'timeout',
  'maxCalls',
  'sessions',
  'start',
  'protocol',
  'connect',
] as const;
const toolFlags = ['rename', 'fix', 'unfix', 'hide', 'unhide', 'reset'] as const;

export const addEdit: AddCommand = (program, environment) => {
  withServerOptions(program.command('edit'))
    .description('change a server or a tool; without options, opens the server in your editor')
    .usage('<server | server.tool> [-- command args… | url] [options]')
    .argument('<name>', 'a server, by name or id, or a tool, as server.tool')
    .argument('[server...]', 'the address of the server, or after --, the command that starts it and its arguments')
    .option('--description <text>', 'description of the server or the tool')
    .option('--command <command>', 'command that starts the server')
    .option('--arg <argument>', 'argument of the command; repeatable, replaces all of them', collect)
    .option('--env <name=value>', 'environment variable of the server; repeatable', collect)
    .option('--unset-env <name>', 'remove an environment variable; repeatable', collect)
    // Not --env-file, which Node takes for its own.
    .option('--dotenv <path>', 'file of NAME=value lines; "" for none')
    .option('--header <name=value>', 'header sent to the server; repeatable', collect)
    .option('--unset-header <name>', 'remove a header; repeatable', collect)
    .option('--cwd <path>', 'working directory of the server; "" for none')
    .option('--health-url <url>', 'URL that health checks request; "" for none')
    .option('--timeout <seconds>', 'timeout of a call')
    .option('--max-calls <number>', 'calls that the server executes at the same time')
    .option('--connect', 'connect it when the aggregator starts')
    .option('--no-connect', 'do not connect it when the aggregator starts')
    .option('--rename <name>', 'of a tool: the name that clients see')
    .option(
      '--fix <argument=value>',
      'of a tool: every call gets this argument, clients do not see it; repeatable',
      collect,
    )
    .option('--unfix <argument>', 'of a tool: leave the argument to the caller again; repeatable', collect)
    .option('--hide <argument>', 'of a tool: clients do not see this argument; repeatable', collect)
    .option('--unhide <argument>', 'of a tool: show the argument again; repeatable', collect)
    .option('--reset', 'of a tool: as the server describes it')
    .addHelpText('after', examples)
    .action(async (name: string, words: string[], options: EditOptions, self: Command) => {
      const context = createContext(self, environment);
      const target = await findTarget(context.client, name);
      if (target.tool !== undefined) return await editTool(target.server, target.tool, options, context);
      refuse(toolFlags, options, 'a tool, for example github.create_issue');
      const server = await context.client.get<ServerDetail>(serverPath(target.server));
      const hasFlags =
        words.length > 0 ||
        options.description !== undefined ||
        serverFlags.some((flag) => options[flag] !== undefined);
      const patch = hasFlags ? patchOf(server, words, options) : editInEditor(server, context);
      await apply(server, patch, context);
    });
};

function refuse(flags: readonly (keyof EditOptions)[], options: EditOptions, what: string): void {
  const given = flags.find((flag) => options[flag] !== undefined);
  if (given === undefined) return;
  throw new CommandFailure(
    'usage',
    `--${given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} is for ${what}`,
  );
}

async function findTarget(client: Client, name: string): Promise<{ server: string; tool?: string }> {
  const dot = name.indexOf('.');
  if (dot === -1) return { server: name };
  const { tools } = await client.get<ToolList>(`${serverPath(name.slice(0, dot))}/tools`);
  const tool = tools.find((one) => one.name === name)?.original_name ?? name.slice(dot + 1);
  return { server: name.slice(0, dot), tool };
}

/** From the config as it is shown: what is masked in it stays as it is stored. */
function patchOf(server: ServerDetail, words: string[], options: EditOptions): EditedConfig {
  const shown = server.connection_config;
  const isChild = server.transport_type === 'STDIO';
  const connection = isChild ? childConfig(shown, words, options) : addressConfig(server, words, options);
  const timeout = toNumber(options.timeout, '--timeout');
  const maxCalls = toNumber(options.maxCalls, '--max-calls');
  const more = {
    ...(timeout === undefined ? {} : { request_timeout: timeout }),
    ...(maxCalls === undefined ? {} : { max_concurrent_calls: maxCalls }),
    ...serverOptionsOf(options),
  };
  return {
    ...(isDeepStrictEqual(connection, shown) ? {} : { connection_config: connection }),
    ...(options.description === undefined ? {} : { description: options.description || null }),
    ...(options.healthUrl === undefined ? {} : { health_check_url: options.healthUrl || null }),
    ...(options.connect === undefined ? {} : { auto_connect: options.connect }),
    ...(Object.keys(more).length === 0 ? {} : { options: { ...server.options, ...more } }),
  };
}

function childConfig(shown: EditedConfig, words: string[], options: EditOptions): EditedConfig {
  for (const flag of ['header', 'unsetHeader'] as const) {
    if (options[flag] !== undefined)
      throw new CommandFailure(
        'usage',
        `--${flag === 'unsetHeader' ? 'unset-header' : flag} is for servers over HTTP; use --env`,
      );
  }
  const [command, ...args] = words;
  if (isUrl(command))
    throw new CommandFailure(
      'usage',
      'this server is started by a command; to use an address, remove it and add it again',
    );
  return withoutEmpty({
    ...shown,
    command: command ?? options.command ?? shown.command,
    args: command === undefined ? (options.arg ?? shown.args) : args,
    env: changed(shown.env, options.env, options.unsetEnv, '--env'),
    env_file: fromHere(options.dotenv) ?? shown.env_file,
    cwd: fromHere(options.cwd) ?? shown.cwd,
  });
}

function addressConfig(
  { transport_type, connection_config: shown }: ServerDetail,
  words: string[],
  options: EditOptions,
): EditedConfig {
  const [address, ...others] = words;
  const given =
    (address !== undefined && !isUrl(address)) ||
    others.length > 0 ||
    options.command !== undefined ||
    options.arg !== undefined;
  if (given || options.env !== undefined || options.cwd !== undefined)
    throw new CommandFailure('usage', 'this server has an address and no command: edit <server> <url>, or --header');
  const field = transport_type === 'SSE' ? 'url' : 'base_url';
  return withoutEmpty({
    ...shown,
    [field]: address ?? shown[field],
    headers: changed(shown.headers, options.header, options.unsetHeader, '--header'),
  });
}

const isUrl = (word: string | undefined) => word !== undefined && /^https?:\/\//i.test(word);

function changed(shown: unknown, set: string[] = [], unset: string[] = [], what = ''): EditedConfig | undefined {
  const next = { ...(shown as EditedConfig | undefined), ...toAssignments(set, what) };
  for (const name of unset) delete next[name];
  return Object.keys(next).length === 0 ? undefined : next;
}

const withoutEmpty = (config: EditedConfig): EditedConfig =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined && value !== ''));

const editable = [
  'description',
  'transport_type',
  'connection_config',
  'health_check_url',
  'auto_connect',
  'options',
  'tool_overrides',
] as const;

/** The server as a JSON file in the user's editor. Secrets are shown as asterisks; what is left so stays as it is. */
function editInEditor(server: ServerDetail, { terminal, environment }: CommandContext): EditedConfig {
  if (!terminal.canAsk)
    throw new CommandFailure('usage', 'Specify what to change, for example --env NAME=value; see edit --help');
  const before = Object.fromEntries(editable.map((field) => [field, server[field as keyof ServerDetail]]));
  const directory = mkdtempSync(join(tmpdir(), 'mcp-aggregator-edit-'));
  const file = join(directory, `${server.name}.json`);
  try {
    writeFileSync(
      file,
      `// "***" stands for a secret and can be left as it is.\n${JSON.stringify(before, null, 2)}\n`,
      { mode: 0o600 },
    );
    runEditor(file, environment);
    const after = readEdited(file);
    return Object.fromEntries(
      editable.flatMap((field) =>
        isDeepStrictEqual(after[field] ?? null, before[field] ?? null) ? [] : [[field, after[field] ?? null]],
      ),
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function runEditor(file: string, environment: NodeJS.ProcessEnv): void {
  const line = environment.VISUAL ?? environment.EDITOR ?? (process.platform === 'win32' ? 'notepad' : 'vi');
  const [command = 'vi', ...args] = splitWords(line);
  const { status, error } = spawnSync(command, [...args, file], { stdio: 'inherit' });
  if (error !== undefined)
    throw new CommandFailure('failed', `${command} could not be started; set EDITOR to your editor`, { cause: error });
  if (status !== 0) throw new CommandFailure('failed', `${command} ended with code ${status}; nothing was changed.`);
}

function readEdited(file: string): EditedConfig {
  try {
    return parseCommentedJson(readFileSync(file, 'utf8')) as EditedConfig;
  } catch (error) {
    throw new CommandFailure('usage', `This is not valid JSON, so nothing was changed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function apply(server: ServerDetail, patch: EditedConfig, context: CommandContext): Promise<void> {
  const { client, terminal } = context;
  if (Object.keys(patch).length === 0) {
    if (terminal.json) return terminal.printJson(server);
    return terminal.print('Nothing was changed.');
  }
  const next = await client.patch<ServerDetail>(serverPath(server.id), patch);
  if (next.status === 'DISCONNECTED') {
    if (terminal.json) return terminal.printJson(next);
    return terminal.say(`${next.name} is changed. It is not connected: mcp-aggregator connect ${next.name}`);
  }
  reportSettled(
    await terminal.progress(`${next.name}: connecting`, (update) => awaitSettled(client, next.name, update)),
    context,
  );
}

interface ShownOverride {
  fixed_arguments?: EditedConfig;
  hidden_arguments?: string[];
}

async function editTool(
  server: string,
  tool: string,
  options: EditOptions,
  { client, terminal }: CommandContext,
): Promise<void> {
  refuse(serverFlags, options, 'a server');
  const path = `${serverPath(server)}/tools/${encodeURIComponent(tool)}`;
  const { tools } = await client.get<ToolList>(`${serverPath(server)}/tools`);
  const current = tools.find((one) => one.original_name === tool || one.name === `${server}.${tool}`);
  const { fixed_arguments = {}, hidden_arguments = [] }: ShownOverride = current?.override ?? {};
  const fixed = { ...fixed_arguments, ...toTyped(toAssignments(options.fix ?? [], '--fix'), current?.input_schema) };
  for (const name of options.unfix ?? []) delete fixed[name];
  const hidden = [...new Set([...hidden_arguments, ...(options.hide ?? [])])].filter(
    (name) => !options.unhide?.includes(name),
  );
  const patch = options.reset
    ? { enabled: null, rename: null, description: null, fixed_arguments: null, hidden_arguments: null }
    : {
        ...(options.rename === undefined ? {} : { rename: options.rename || null }),
        ...(options.description === undefined ? {} : { description: options.description || null }),
        ...(options.fix === undefined && options.unfix === undefined ? {} : { fixed_arguments: orNull(fixed) }),
        ...(options.hide === undefined && options.unhide === undefined
          ? {}
          : { hidden_arguments: hidden.length === 0 ? null : hidden }),
      };
  if (Object.keys(patch).length === 0)
    throw new CommandFailure('usage', 'Specify what to change: --rename, --description, --fix, --hide or --reset');
  const answer = await client.patch<ToolList>(path, patch);
  if (terminal.json) return terminal.printJson(answer.tools[0]);
  for (const { name, wire_name } of answer.tools)
    terminal.print(`${name} is changed; MCP clients see it as ${wire_name}.`);
}

const orNull = (values: EditedConfig) => (Object.keys(values).length === 0 ? null : values);

const examples = `
Examples:
  mcp-aggregator edit files                                   # in your editor
  mcp-aggregator edit files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  mcp-aggregator edit notes --header 'Authorization=Bearer \${NOTES_TOKEN}'
  mcp-aggregator edit github.create_issue --fix repo=acme/shop --description 'Report a bug of the shop'`;
