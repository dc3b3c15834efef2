/** The service of this user: written, made known to the platform, and taken back. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Setting, settings } from '../config/settings.ts';
import { homeOf } from '../home.ts';
import { CommandFailure } from './exit-code.ts';
import { keepProgram, nodeFlags, type Program, programFor } from './own-program.ts';
import { describeService, type ServiceDefinition } from './service-definition.ts';

/** A secret in a unit file could be read by others; the data directory has them. */
const plainSettings = (Object.values(settings) as Setting<unknown>[])
  .filter(({ secret }) => !secret)
  .map(({ env }) => env);

const commandTimeoutMs = 30_000;

/** Undefined on platforms that have none. */
export function findService(
  dataDir: string,
  environment: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
): ServiceDefinition | undefined {
  return describeService({
    platform: process.platform,
    home: homeOf(environment),
    dataDir,
    program: programFor(dataDir, environment),
    nodeFlags,
    environment,
    settings: plainSettings,
    flags,
    uid: process.getuid?.(),
  });
}

export function serviceOf(
  dataDir: string,
  environment: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
): ServiceDefinition {
  const service = findService(dataDir, environment, flags);
  if (service !== undefined) return service;
  throw new CommandFailure(
    'failed',
    `Services are not supported on ${process.platform}; start it with: mcp-aggregator start`,
  );
}

/** False in containers, and over SSH without a session of the user. */
export const canInstall = ({ probe }: ServiceDefinition, environment: NodeJS.ProcessEnv) =>
  run(probe, environment).isDone;

/** For this data directory. */
export const isInstalled = ({ file, mark }: ServiceDefinition) => existsSync(file) && readFileSync(file).includes(mark);

export const isActive = ({ status }: ServiceDefinition, environment: NodeJS.ProcessEnv) =>
  run(status, environment).isDone;

export function requireInstallable(service: ServiceDefinition, environment: NodeJS.ProcessEnv): void {
  if (canInstall(service, environment)) return;
  const what = service.probe.slice(0, 2).join(' ');
  throw new CommandFailure(
    'failed',
    `"${what}" does not work here, so no service can be installed. Clients that start programs, and mcp-aggregator start, run the aggregator in the background.`,
  );
}

/** Whether the file is the one that would be written now: another version of us, or another port, writes another. */
export const isUpToDate = ({ file, content }: ServiceDefinition): boolean =>
  existsSync(file) && readFileSync(file).equals(Buffer.from(content));

/** Nothing may run on the data directory meanwhile. */
export function installService(service: ServiceDefinition, dataDir: string, environment: NodeJS.ProcessEnv): void {
  requireInstallable(service, environment);
  if (existsSync(service.file) && !isInstalled(service))
    throw new CommandFailure('conflict', `${service.file} is the service of another data directory; remove it first.`);
  keepProgram(dataDir, environment);
  // The platform keeps what it read before.
  if (isInstalled(service)) uninstallService(service, environment);
  mkdirSync(dirname(service.file), { recursive: true });
  // The address of a proxy may have a password.
  writeFileSync(service.file, service.content, { mode: 0o600 });
  for (const command of service.install) {
    const { isDone, said } = run(command, environment);
    if (isDone) continue;
    uninstallService(service, environment);
    throw new CommandFailure('failed', `${command.join(' ')} failed: ${said}`);
  }
}

/** False where there is none, or none that the platform can start. */
export function startService(service: ServiceDefinition, environment: NodeJS.ProcessEnv): boolean {
  return isInstalled(service) && service.start !== undefined && run(service.start, environment).isDone;
}

/** False where there was none. */
export function uninstallService(service: ServiceDefinition, environment: NodeJS.ProcessEnv): boolean {
  if (!isInstalled(service)) return false;
  for (const command of service.uninstall) run(command, environment);
  rmSync(service.file, { force: true });
  return true;
}

function run([command, ...args]: Program, environment: NodeJS.ProcessEnv): { isDone: boolean; said: string } {
  const { status, stderr, error } = spawnSync(command, args, {
    env: environment,
    encoding: 'utf8',
    timeout: commandTimeoutMs,
    windowsHide: true,
  });
  return { isDone: status === 0, said: error?.message ?? stderr?.trim() ?? '' };
}
