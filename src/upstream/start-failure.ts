/** Why a server did not start, read from what it printed. Pure. */

/** One line for a person, or undefined where nothing that was printed says anything; `warnings` of earlier attempts. */
export function causeIn(output: readonly string[], warnings: readonly string[] = output): string | undefined {
  const lines = output.map((line) => line.replace(/^stdout: /, '').trimEnd());
  const cause = npmCause(lines) ?? nodeCause(lines) ?? lastMeaningful(lines);
  const engine = cause === undefined ? undefined : wrongEngine(warnings);
  return engine === undefined ? cause : `${cause} (${engine})`;
}

/** Of npm, which prints them only when it installs a package. */
export const isWarning = (line: string): boolean => /^npm (?:warn|WARN) EBADENGINE/.test(line);

/** npm only warns, and the program then fails somehow. */
function wrongEngine(lines: readonly string[]): string | undefined {
  const text = lines.flatMap((line) => /^npm (?:warn|WARN) EBADENGINE(.*)$/.exec(line)?.[1] ?? []).join('\n');
  const [, name] = /package: '([^']*)'/.exec(text) ?? [];
  const [, required] = /required: \{ node: '([^']*)'/.exec(text) ?? [];
  const [, current] = /current: \{ node: 'v?([^']*)'/.exec(text) ?? [];
  return required === undefined ? undefined : `${name} needs Node ${required}, and this is Node ${current}`;
}

const npmLine = /^npm (?:error|ERR!) ?(.*)$/;

function npmCause(lines: readonly string[]): string | undefined {
  const said = lines.flatMap((line) => npmLine.exec(line)?.[1] ?? []);
  const code = said.map((line) => /^code (\w+)$/.exec(line)?.[1]).find(Boolean);
  const text = said.join('\n');
  const wanted = packageIn(text);
  if (code === 'E404')
    return `npm E404: the package ${wanted ?? 'of the command'} is not in the registry; check its name`;
  if (code === 'ETARGET')
    return `npm ETARGET: there is no such version: ${/No matching version found for (\S+?)\.?$/m.exec(text)?.[1] ?? wanted}`;
  if (code === 'EBADENGINE')
    return `npm EBADENGINE: the package needs another Node: ${/Required: *(.+)$/m.exec(text)?.[1] ?? 'see its page'}`;
  if (code !== undefined && (networkCode.test(code) || certificateCode.test(code))) return unreachable(code);
  if (code === 'E401' || code === 'E403')
    return `npm ${code}: the registry refused the package ${wanted ?? ''}; check its name and .npmrc`.replace(
      '  ',
      ' ',
    );
  if (/could not determine executable to run/.test(text))
    return 'npm: the package has no program to run; check its name';
  const failed = code === undefined ? failedAttempt(lines.at(-1)) : undefined;
  if (failed !== undefined) return unreachable(failed);
  const reason = said.find((line) => line !== '' && !/^(code|errno|syscall|path|A complete log)/.test(line));
  return code === undefined ? undefined : `npm ${code}${reason === undefined ? '' : `: ${reason}`}`;
}

/** npm tries for minutes before it gives up; while the registry refuses, its last line says so. */
const failedAttempt = (line: string | undefined) =>
  /^npm http fetch .* attempt \d+ failed with (\w+)$/.exec(line ?? '')?.[1];

const unreachable = (code: string) =>
  `npm ${code}: the registry cannot be reached; check ${
    certificateCode.test(code)
      ? 'the certificate of the proxy (npm config set cafile <path>)'
      : 'the network and the proxy'
  }`;

const networkCode = /^(ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ECONNRESET|ENETUNREACH|ERR_SOCKET_TIMEOUT)$/;
const certificateCode = /CERT|UNABLE_TO_VERIFY/;

function packageIn(text: string): string | undefined {
  const named = /'((?:@[\w.-]+\/)?[\w.-]+)(?:@[^']*)?' (?:is not in this registry|could not be found)/.exec(text)?.[1];
  const asked = /GET https?:\/\/\S+?\/((?:@[\w.-]+(?:%2f|\/))?[\w.-]+)(?: |$)/im.exec(text)?.[1];
  return named ?? (asked === undefined ? undefined : decodeURIComponent(asked));
}

function nodeCause(lines: readonly string[]): string | undefined {
  const text = lines.join('\n');
  const port = /listen EADDRINUSE.*?:(\d+)$/m.exec(text)?.[1];
  if (port !== undefined) return `port ${port} is in use by another program`;
  const place = lines.findIndex((line) => /^\s*SyntaxError: /.test(line));
  if (place === -1) return undefined;
  const file = lines.slice(0, place).findLast((line) => /^(file:\/\/)?\/?\S+:\d+$/.test(line));
  return `${lines[place]?.trim()}${file === undefined ? '' : ` in ${file.replace('file://', '')}`}`;
}

const noise = [
  /^\s*$/,
  /^\s+at /,
  /^\s*[\^~─-]+\s*$/,
  /^[\s{}()[\],;]*$/,
  /^npm (error|ERR!|notice|warn|http|verb|info|timing)\b/i,
  /^Node\.js v/,
  /^\(?(node:\d+\)|Use `node --trace)/,
  /^Traceback \(most recent/,
  /^\s+(code|errno|syscall|path|spawnargs|address|port|url|requireStack|cause): /,
];
const telling = /^\s*(?:Uncaught )?(?:\w*(?:Error|Exception)\b(?: \[\w+\])?:|error\b|fatal\b|panic\b|docker: )/i;

/** What names an error, else the last line that is more than decoration. */
function lastMeaningful(lines: readonly string[]): string | undefined {
  const meaningful = lines.filter((line) => !noise.some((pattern) => pattern.test(line)));
  return (meaningful.findLast((line) => telling.test(line)) ?? meaningful.at(-1))?.trim();
}
