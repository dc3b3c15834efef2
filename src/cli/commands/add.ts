import type { Command } from 'commander';
import { collect, toAssignments } from '../assignments.ts';
import { api } from '../client.ts';
import { type AddCommand, createContext } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { fromHere, type ServerOptionFlags, serverOptionsOf, withServerOptions } from '../server-options.ts';
import { awaitSettled } from '../settled.ts';
import { reportSettled } from './connect.ts';

interface AddOptions extends ServerOptionFlags {
  stdio?: boolean;
  sse?: string;
  http?: string;
  header?: string[];
  env?: string[];
  description?: string;
  connect: boolean;
  wait: boolean;
  cwd?: string;
  dotenv?: string;
  healthUrl?: string;
}

export const addAdd: AddCommand = (program, environment) => {
  withServerOptions(program.command('add'))
    .description('register a server and connect it')
    .usage('<name> (-- command args… | url | --sse url) [options]')
    .argument('<name>', 'a-z, 0-9, "-" and "_", a letter first')
    .argument('[server...]', 'the address of a server, or after --, the command that starts one and its arguments')
    .option('--stdio', 'a server that is started as a child process')
    .option('--sse <url>', 'a server over HTTP with server-sent events (2024-11-05)')
    .option('--http <url>', 'a server over Streamable HTTP')
    .option('--header <name=value>', 'header sent to the server; may contain ${VARIABLE}; repeatable', collect)
    .option(
      '--env <name=value>',
      'environment variable of the child process; may contain ${VARIABLE}; repeatable',
      collect,
    )
    // Not --env-file, which Node takes for its own.
    .option('--dotenv <path>', 'file of NAME=value lines, read at every start of the child process')
    .option('--cwd <path>', 'working directory of the child process')
    .option('--description <text>', 'description of the server')
    .option('--health-url <url>', 'URL that health checks request instead of the server itself')
    .option('--no-connect', 'register without connecting')
    .option('--no-wait', 'do not wait for the connection')
    .addHelpText('after', examples)
    .action(async (name: string, words: string[], options: AddOptions, self: Command) => {
      const context = createContext(self, environment);
      const { client, terminal } = context;
      const registered = await client.post(`${api}/servers`, {
        name,
        ...toConnection(...withTransport(words, options)),
        description: options.description,
        health_check_url: options.healthUrl,
        auto_connect: options.connect,
        options: optional(serverOptionsOf(options)),
      });
      if (!options.connect || !options.wait) {
        if (terminal.json) return terminal.printJson(registered);
        return terminal.print(`${name} is registered${options.connect ? ' and connects in the background' : ''}.`);
      }
      const server = await terminal.progress(`${name}: connecting`, (update) => awaitSettled(client, name, update));
      reportSettled(server, context);
    });
};

/** A URL defaults to Streamable HTTP, which most servers use; anything else is a command. */
function withTransport(words: string[], options: AddOptions): [string[], AddOptions] {
  const { stdio, sse, http } = options;
  const [first = '', ...more] = words;
  if (words.length === 0 || stdio || sse !== undefined || http !== undefined) return [words, options];
  if (more.length === 0 && /^https?:\/\//i.test(first)) return [[], { ...options, http: first }];
  if (/^[a-z]+:\/\//i.test(first))
    throw new CommandFailure('usage', `"${first}" is not the URL of a server: it must start with https:// or http://`);
  return [words, { ...options, stdio: true }];
}

function toConnection(words: string[], options: AddOptions) {
  const chosen = [options.stdio && '--stdio', options.sse && '--sse', options.http && '--http'].filter(Boolean);
  if (chosen.length !== 1) {
    throw new CommandFailure(
      'usage',
      chosen.length > 1
        ? `use only one of --stdio, --sse and --http, not ${chosen.join(' and ')}`
        : 'specify the URL of the server, or the command that starts it: add files -- npx -y some-server',
    );
  }
  const headers = optional(toAssignments(options.header ?? [], '--header'));
  if (options.stdio) {
    const [command, ...args] = words;
    if (command === undefined)
      throw new CommandFailure('usage', 'specify the command after --, for example: --stdio -- npx -y some-server');
    if (headers !== undefined) throw new CommandFailure('usage', '--header is for --sse and --http; use --env');
    const env = optional(toAssignments(options.env ?? [], '--env'));
    const places = { env_file: fromHere(options.dotenv), cwd: fromHere(options.cwd) };
    return { transport_type: 'STDIO', connection_config: { command, args, env, ...places } };
  }
  if (words.length > 0)
    throw new CommandFailure('usage', `unexpected: ${words.join(' ')}; to start a command, use --stdio`);
  if (options.env !== undefined || options.dotenv !== undefined || options.cwd !== undefined) {
    throw new CommandFailure('usage', '--env, --dotenv and --cwd are for --stdio; use --header');
  }
  return options.http !== undefined
    ? { transport_type: 'HTTP', connection_config: { base_url: options.http, headers } }
    : { transport_type: 'SSE', connection_config: { url: options.sse, headers } };
}

function optional(values: Record<string, string>): Record<string, string> | undefined {
  return Object.keys(values).length === 0 ? undefined : values;
}

const examples = `
Examples:
  mcp-aggregator add files -- npx -y @modelcontextprotocol/server-filesystem /tmp
  mcp-aggregator add notes https://mcp.example.com/mcp --header 'Authorization=Bearer \${NOTES_TOKEN}'`;
