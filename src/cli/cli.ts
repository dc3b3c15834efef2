/** The command line: registers all commands and prints failures. */
import { Command, CommanderError } from 'commander';
import { AppError, type ErrorCode } from '../errors.ts';
import { version } from '../version.ts';
import { type AddCommand, withGlobalFlags } from './command.ts';
import { addAdd } from './commands/add.ts';
import { addAudit } from './commands/audit.ts';
import { addCall } from './commands/call.ts';
import { addConnect } from './commands/connect.ts';
import { addConnectClient } from './commands/connect-client.ts';
import { addDoctor } from './commands/doctor.ts';
import { addExport } from './commands/export.ts';
import { addImport } from './commands/import.ts';
import { addList } from './commands/list.ts';
import { addLogin } from './commands/login.ts';
import { addOpen } from './commands/open.ts';
import { addProfile } from './commands/profile.ts';
import { addQuery } from './commands/query.ts';
import { addRotateKey } from './commands/rotate-key.ts';
import { addSearch } from './commands/search.ts';
import { addServe, describeSettings } from './commands/serve.ts';
import { addSignIn } from './commands/sign-in.ts';
import { addSkills } from './commands/skills.ts';
import { addStdio } from './commands/stdio.ts';
import { addToken } from './commands/token.ts';
import { addVersion } from './commands/version.ts';
import { CommandFailure, type Exit, exitCodes } from './exit-code.ts';
import { withoutControls } from './terminal.ts';

/** In the order of `--help`. */
const commands: readonly AddCommand[] = [
  addServe,
  addOpen,
  addSignIn,
  addStdio,
  addAdd,
  addImport,
  addExport,
  addList,
  addSearch,
  addQuery,
  addCall,
  addConnect,
  addConnectClient,
  addLogin,
  addSkills,
  addProfile,
  addToken,
  addAudit,
  addRotateKey,
  addDoctor,
  addVersion,
];

export async function run(words: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  // `mcp-aggregator tools | head` closes our output early, which is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
  try {
    await createProgram(environment).parseAsync(words, { from: 'user' });
  } catch (error) {
    const { exit, message, answer } = explain(error);
    process.exitCode = exitCodes[exit].code;
    if (message === undefined) return;
    const json = beforeDashes(words).includes('--json');
    console.error(json ? JSON.stringify({ error: message, exit, answer }) : `error: ${withoutControls(message)}`);
  }
}

function createProgram(environment: NodeJS.ProcessEnv): Command {
  const program = withGlobalFlags(new Command('mcp-aggregator'))
    .description('One MCP endpoint and one REST API in front of many MCP servers.')
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .addHelpText('after', () => `\n${describeSettings()}\n\n${describeExitCodes()}`)
    .exitOverride();
  for (const add of commands) add(program, environment);
  for (const command of program.commands) withGlobalFlags(command);
  return program;
}

function describeExitCodes(): string {
  return ['Exit codes:', ...Object.values(exitCodes).map(({ code, meaning }) => `  ${code}  ${meaning}`)].join('\n');
}

/** Commander has already printed its own messages. */
function explain(error: unknown): { exit: Exit; message?: string; answer?: unknown } {
  if (error instanceof CommanderError) return { exit: error.exitCode === 0 ? 'ok' : 'usage' };
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
