/** STDIO servers as another user: they can read neither our memory and environment nor the data directory. */
import { spawnSync } from 'node:child_process';
import type { ChildUser } from '../config/parsers.ts';
import { AppError } from '../errors.ts';

const probeTimeoutMs = 5_000;

/** Tried once at the start, because only the operating system knows whether we may. */
export function requireChildUser(user: ChildUser | undefined): void {
  if (user === undefined) return;
  const { uid, gid } = user;
  const { error } = spawnSync('/bin/sh', ['-c', ':'], { uid, gid, env: {}, cwd: '/', timeout: probeTimeoutMs });
  if (error === undefined) return;
  throw new AppError(
    'CONFIGURATION_INVALID',
    `MCP_AGGREGATOR_CHILD_USER: this process may not start programs as uid ${uid}, gid ${gid}; run it as root or with CAP_SETUID, CAP_SETGID and CAP_KILL`,
    { cause: error },
  );
}

/** Variables that point to our home directory must not point there for a user who cannot read it. */
export function environmentOf(
  user: ChildUser | undefined,
  ours: Readonly<NodeJS.ProcessEnv>,
): Readonly<NodeJS.ProcessEnv> {
  if (user === undefined) return ours;
  const own = /^(?:HOME|USER|LOGNAME|SHELL|TMPDIR|XDG_\w+)$/;
  const rest = Object.entries(ours).filter(([name]) => !own.test(name));
  const { name, home } = user;
  return { ...Object.fromEntries(rest), HOME: home, ...(name === undefined ? {} : { USER: name, LOGNAME: name }) };
}
