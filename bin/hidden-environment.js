/**
 * Keeps secrets out of /proc/<pid>/environ, which every process of the same user can read, servers that we start
 * included. It shows the environment that a program was started with, whatever it deletes later. So we start ourselves
 * once more, as the same process, with what is no secret in the environment and the rest in pipes, and put the rest back
 * into `process.env`, where no other process sees it.
 */
import { closeSync, readFileSync } from 'node:fs';

const visible =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TERM|TMPDIR|TZ|PWD|OLDPWD|SHLVL|_|HOSTNAME|SSL_CERT_(?:FILE|DIR)|XDG_\w+|NODE_\w+|UV_\w+|YARN_VERSION|\w+_FILE)$|^(?!\w*(?:TOKEN|KEY|SECRET|PASSWORD|URL|ENDPOINT|HEADERS))(?:MCP_AGGREGATOR|OTEL)_\w+$/;
const pipesVariable = 'MCP_AGGREGATOR_ENVIRONMENT_PIPES';
const firstPipe = 3;
/** POSIX shells know one-digit descriptors only. */
const lastPipe = 9;
/** The least that a pipe takes without a reader on every system. */
const pipeBytes = 4_000;

export const isVisible = (name) => visible.test(name);

/** With these flags of Node. Returns where there is nothing to hide and no flag to add, or where the platform cannot. */
export function restartHidden(program, words, flags) {
  if (process.platform === 'win32' || process.execve === undefined || process.env.NODE_CHANNEL_FD !== undefined) return;
  const { hidden, rest } = divide(process.env);
  const given = process.execArgv.map(nameOf);
  // What the user set stays.
  const added = flags.filter((flag) => !given.includes(nameOf(flag)));
  if (Object.keys(hidden).length === 0 && added.length === 0) return;
  const text = Buffer.from(JSON.stringify(hidden)).toString('base64');
  const pipes = {};
  for (let pipe = firstPipe, at = 0; at < text.length; pipe += 1, at += pipeBytes) {
    pipes[`pipe${pipe}`] = text.slice(at, at + pipeBytes);
  }
  const names = Object.keys(pipes);
  const numbers = names.map((name) => name.slice('pipe'.length));
  const script = [
    ...names.map((name, place) => `exec ${numbers[place]}<<END\n$${name}\nEND`),
    `unset ${names.join(' ')}`,
    'exec "$0" "$@"',
  ].join('\n');
  const command = [process.execPath, ...process.execArgv, ...added, program, ...words];
  process.execve('/bin/sh', ['sh', '-c', script, ...command], {
    ...rest,
    ...pipes,
    [pipesVariable]: numbers.join(','),
  });
}

const nameOf = (flag) => flag.split('=')[0];

/** True where this process is the one that was started again. */
export function restoreEnvironment() {
  const pipes = process.env[pipesVariable];
  if (pipes === undefined) return false;
  delete process.env[pipesVariable];
  const parts = pipes.split(',').map((pipe) => {
    const part = readFileSync(Number(pipe), 'utf8').trim();
    closeSync(Number(pipe));
    return part;
  });
  Object.assign(process.env, JSON.parse(Buffer.from(parts.join(''), 'base64').toString('utf8')));
  return true;
}

/** The shortest first: what does not fit any more is no password. */
function divide(environment) {
  const hidden = {};
  const rest = {};
  const room = Math.floor((pipeBytes * (lastPipe - firstPipe + 1) * 3) / 4);
  let length = '{}'.length;
  for (const [name, value] of Object.entries(environment).sort(([, a], [, b]) => a.length - b.length)) {
    const more = Buffer.byteLength(JSON.stringify({ [name]: value }));
    const fits = length + more <= room;
    if (isVisible(name) || !fits) rest[name] = value;
    else {
      hidden[name] = value;
      length += more;
    }
  }
  return { hidden, rest };
}
