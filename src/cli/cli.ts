/** The command line: registers all commands and prints failures. */
import { Command, CommanderError } from 'commander';
import { AppError, type ErrorCode } from '../errors.ts';
import { version } from '../version.ts';
import { type AddCommand, withGlobalFlags } from './command.ts';
import { separateServerCommand } from './command-words.ts';
import { addAdd } from './commands/add.ts';
import { addAudit } from './commands/audit.ts';
import { addCall } from './commands/call.ts';
import { addCompletion } from './commands/completion.ts';
import { addConnect } from './commands/connect.ts';
import { addConnectClient } from './commands/connect-client.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEdit } from './commands/edit.ts';
import { addExport } from './commands/export.ts';
import { addHelp } from './commands/help.ts';
import { addImport } from './commands/import.ts';
import { addKey } from './commands/key.ts';
import { addList } from './commands/list.ts';
import { addLogin } from './commands/login.ts';
import { addOpen } from './commands/open.ts';
import { addProfile } from './commands/profile.ts';
import { addQuery } from './commands/query.ts';
import { addRename } from './commands/rename.ts';
import { addRotateKey } from './commands/rotate-key.ts';
import { addSearch } from './commands/search.ts';
import { addSecret } from './commands/secret.ts';
import { addServe } from './commands/serve.ts';
import { addService } from './commands/service.ts';
import { addSetup } from './commands/setup.ts';
import { addSignIn } from './commands/sign-in.ts';
import { addSkills } from './commands/skills.ts';
import { addStart } from './commands/start.ts';
import { addStdio } from './commands/stdio.ts';
import { addToken } from './commands/token.ts';
import { addToolSwitches } from './commands/tool-switches.ts';
import { addVersion } from './commands/version.ts';
import { CommandFailure, type Exit, exitCodes } from './exit-code.ts';
import { withoutScriptFolders } from './own-program.ts';
import { commandGroups, inOwnWords } from './own-words.ts';
import { withoutControls } from './terminal.ts';
import { toUsageFailure } from './usage-failure.ts';

/** In the order of `--help`. */
const commands: readonly AddCommand[] = [
  addSetup,
  addAdd,
  addImport,
  addConnectClient,
  addOpen,
  addList,
  addEdit,
  addRename,
  addToolSwitches,
  addConnect,
  addLogin,
  addCall,
  addSearch,
  addQuery,
  addSkills,
  addProfile,
  addServe,
  addStart,
  addService,
  addStdio,
  addDoctor,
  addToken,
  addKey,
  addSecret,
  addSignIn,
  addAudit,
  addExport,
  addRotateKey,
  addCompletion,
  addVersion,
  addHelp,
];

export async function run(words: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  // `mcp-aggregator tools | head` closes our output early, which is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
  try {
    const program = createProgram(withoutScriptFolders(environment));
    await program.parseAsync(separateServerCommand(words, takesValue(program)), { from: 'user' });
  } catch (error) {
    const { exit, message, answer } = explain(error);
    process.exitCode = exitCodes[exit].code;
    if (message === undefined) return;
    const json = beforeDashes(words).includes('--json');
    console.error(
      json
        ? JSON.stringify({ error: message, exit, answer })
        : `error: ${inOwnWords(withoutControls(message), environment)}`,
    );
  }
}

function takesValue(program: Command): (option: string) => boolean {
  const commands = [program, ...program.commands.filter((command) => ['add', 'edit'].includes(command.name()))];
  const options = commands.flatMap((command) => command.options).filter((option) => option.required || option.optional);
  const names = new Set(options.flatMap(({ long, short }) => [long, short]));
  return (option) => names.has(option);
}

export function createProgram(environment: NodeJS.ProcessEnv): Command {
  const program = withGlobalFlags(new Command('mcp-aggregator'))
    .description('One MCP endpoint and one REST API in front of many MCP servers.')
    .version(version, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .enablePositionalOptions()
    .showSuggestionAfterError(false)
    .usage('<command> [options]')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .addHelpText('after', '\nMore: mcp-aggregator help <command>, help settings, help exit-codes')
    // Errors are printed in one place, with what was meant.
    .configureOutput({
      outputError: () => undefined,
      writeOut: (text) => void process.stdout.write(inOwnWords(text, environment)),
    });
  for (const add of commands) add(program, environment);
  for (const command of withSubcommands(program)) command.exitOverride(translate(command));
  for (const command of program.commands) {
    withGlobalFlags(command);
    const [group] = Object.entries(commandGroups).find(([, names]) => names.includes(command.name())) ?? [];
    if (group !== undefined) command.helpGroup(`${group}:`);
  }
  return program;
}

const withSubcommands = (command: Command): Command[] => [command, ...command.commands.flatMap(withSubcommands)];

/** `--help` and `--version` end as errors, too. */
const translate = (command: Command) => (error: CommanderError) => {
  throw error.exitCode === 0 ? error : toUsageFailure(error, command);
};

function explain(error: unknown): { exit: Exit; message?: string; answer?: unknown } {
  if (error instanceof CommanderError) return { exit: 'ok' };
  if (error instanceof CommandFailure) return error;
  if (error instanceof AppError) {
    return { exit: exits[error.code] ?? 'usage', message: error.message };
  }
  if (isAddressInUse(error)) {
    const message = `${error.address}:${error.port} is in use by another program; choose another port with --port`;
    return { exit: 'conflict', message };
  }
  throw error;
}

const exits: Partial<Record<ErrorCode, Exit>> = { DATA_DIRECTORY_IN_USE: 'conflict', STORAGE_UNAVAILABLE: 'failed' };

function isAddressInUse(error: unknown): error is Error & { address: string; port: number } {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

function beforeDashes(words: readonly string[]): readonly string[] {
  const end = words.indexOf('--');
  return end === -1 ? words : words.slice(0, end);
}
