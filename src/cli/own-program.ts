/** How this program is started again: by a client, by a service, in the background. */
import { cpSync, existsSync, mkdirSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { delimiter, dirname, join, sep } from 'node:path';
import { version } from '../version.ts';

/** Node's flags for an aggregator that runs for long: see bin/mcp-aggregator.js. */
export const nodeFlags = ['--max-semi-space-size=16', '--max-old-space-size=768', '--expose-gc'];

export type Program = [command: string, ...args: string[]];

/** The command and its first arguments: paths that stay, also after the next upgrade of Node. */
export function programFor(dataDir: string, environment: NodeJS.ProcessEnv): Program {
  const script = stablePath(process.argv[1] ?? '', environment);
  return [stablePath(process.execPath, environment), isPassing(script) ? copyOf(script, dataDir) : script];
}

/**
 * Called before anything that is written or started names the program: npx runs us from a cache that npm empties, so
 * what has to stay is copied, with everything that it needs.
 */
export function keepProgram(dataDir: string, environment: NodeJS.ProcessEnv): void {
  const script = stablePath(process.argv[1] ?? '', environment);
  if (isPassing(script)) copyPackage(script, dataDir);
}

/**
 * Package managers keep programs in folders that are named after their version (Homebrew's Cellar, nvm, Volta) and link
 * to them: the link stays when the version goes.
 */
export function stablePath(
  path: string,
  environment: NodeJS.ProcessEnv,
  {
    exists = existsSync,
    real = realPath,
  }: { exists?: (path: string) => boolean; real?: (path: string) => string } = {},
): string {
  const target = real(path);
  const opt = target.replace(/\/Cellar\/([^/]+)\/[^/]+\//, '/opt/$1/');
  if (opt !== target && exists(opt)) return opt;
  const name = /[^\\/]+$/.exec(path)?.[0] ?? '';
  const linked = (environment.PATH ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '' && !isPassing(folder + sep))
    .map((folder) => join(folder, name))
    .find((candidate) => exists(candidate) && real(candidate) === target);
  return linked ?? target;
}

/** Folders that exist for one command only: of npx, of `npm run`, of fnm's shells. */
const isPassing = (path: string) => /[\\/](_npx|fnm_multishells)[\\/]|[\\/]node_modules[\\/]\.bin[\\/]/.test(path);

/**
 * The environment with PATH as the user has it. npm puts folders in front of it for the one command that it runs; the
 * servers and services that we start would find other programs there than those of the user.
 */
export function withoutScriptFolders(environment: NodeJS.ProcessEnv, separator: string = delimiter): NodeJS.ProcessEnv {
  if (environment.npm_lifecycle_event === undefined) return environment;
  const name = Object.keys(environment).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  const folders = (environment[name] ?? '').split(separator);
  return { ...environment, [name]: folders.filter((folder) => !isScriptFolder(folder)).join(separator) };
}

const isScriptFolder = (folder: string) =>
  /[\\/]node_modules[\\/](\.bin|npm[\\/].*[\\/]node-gyp-bin)[\\/]?$/.test(folder);

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // reported by the one who uses it
  }
}

export const installationIn = (dataDir: string) => join(dataDir, 'app');

const versionIn = (dataDir: string) => join(installationIn(dataDir), version);

function copyOf(script: string, dataDir: string): string {
  return join(versionIn(dataDir), 'node_modules', ...script.split(modules).slice(1));
}

const modules = `${sep}node_modules${sep}`;

function copyPackage(script: string, dataDir: string): void {
  const target = versionIn(dataDir);
  if (existsSync(target)) return;
  const [root = ''] = script.split(modules);
  const copy = `${target}.new`;
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  cpSync(join(root, 'node_modules'), join(copy, 'node_modules'), { recursive: true, verbatimSymlinks: true });
  renameSync(copy, target);
}
