/**
 * How Windows starts a command and ends what it started. `npx` and its like are scripts there, which only cmd.exe runs:
 * an argument must reach the program behind the script as it was given, and never be read by cmd.exe.
 */
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { win32 } from 'node:path';

interface WindowsCommand {
  file: string;
  args: string[];
  /** The arguments are quoted already. */
  windowsVerbatimArguments: boolean;
}

interface CommandLookup {
  env: Readonly<NodeJS.ProcessEnv>;
  cwd?: string;
  isFile?: (path: string) => boolean;
}

const taskkillTimeoutMs = 10_000;

export function toWindowsCommand(
  command: string,
  args: readonly string[],
  { env, cwd = '', isFile = isExistingFile }: CommandLookup,
): WindowsCommand {
  const file = candidates(command, env, cwd).find(isFile) ?? command;
  if (!/\.(cmd|bat)$/i.test(file)) return { file, args: [...args], windowsVerbatimArguments: false };
  if (args.some((arg) => /[\r\n]/.test(arg))) {
    throw new Error(
      `arguments of ${win32.basename(file)} cannot contain line breaks, because it is a script of cmd.exe`,
    );
  }
  // /d: no autorun of the registry. /v:off: `!name!` stays as it is.
  const line = `"${[file, ...args].map(quote).join(' ')}"`;
  return {
    file: systemProgram('cmd.exe'),
    args: ['/d', '/e:on', '/v:off', '/s', '/c', line],
    windowsVerbatimArguments: true,
  };
}

/** Not the current directory, where cmd.exe would look first. */
function candidates(command: string, env: Readonly<NodeJS.ProcessEnv>, cwd: string): string[] {
  const extensions = (variable(env, 'PATHEXT') ?? '.COM;.EXE;.BAT;.CMD').split(';').filter((ext) => ext !== '');
  const hasExtension = extensions.some((ext) => command.toLowerCase().endsWith(ext.toLowerCase()));
  const names = [...(hasExtension ? [command] : []), ...extensions.map((ext) => command + ext)];
  if (/[\\/:]/.test(command)) return names.map((name) => win32.resolve(cwd, name));
  const folders = (variable(env, 'PATH') ?? '').split(';').map((folder) => folder.replaceAll('"', ''));
  return folders.filter((folder) => folder !== '').flatMap((folder) => names.map((name) => win32.join(folder, name)));
}

/**
 * Quotes are doubled, which leaves cmd.exe inside of the quotes, also when the script passes its arguments on. In
 * `%%cd:~,%` the variable is an empty piece of the current directory, so that a single percent sign remains.
 */
function quote(arg: string): string {
  const escaped = arg.replace(/(\\*)"/g, '$1$1""').replace(/(\\+)$/, '$1$1');
  return `"${escaped.replaceAll('%', '%%cd:~,%')}"`;
}

/** The process and all that it started; Windows has no process groups. */
export function endTree(pid: number): Promise<void> {
  return new Promise((resolve) => {
    const program = systemProgram('taskkill.exe');
    const args = ['/pid', String(pid), '/t', '/f'];
    // Our own directory may be gone by now.
    const how = {
      cwd: win32.dirname(program),
      stdio: 'ignore',
      windowsHide: true,
      timeout: taskkillTimeoutMs,
    } as const;
    spawn(program, args, how)
      .on('error', () => resolve())
      .on('exit', () => resolve());
  });
}

/** A program of Windows itself. Not from PATH, where another program could have its name. */
export function systemProgram(name: string): string {
  return win32.join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', name);
}

function variable(env: Readonly<NodeJS.ProcessEnv>, name: string): string | undefined {
  const key = Object.keys(env).find((candidate) => candidate.toUpperCase() === name.toUpperCase());
  return key === undefined ? undefined : env[key];
}

function isExistingFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
