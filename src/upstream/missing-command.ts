/** What to do about a command that is not there. Pure. */
import { didYouMean } from '../suggestions.ts';

/** What starts most servers, and where it comes from. */
const launchers: Readonly<Record<string, string>> = {
  node: 'https://nodejs.org',
  npx: 'https://nodejs.org',
  npm: 'https://nodejs.org',
  pnpm: 'https://pnpm.io',
  yarn: 'https://yarnpkg.com',
  uv: 'https://docs.astral.sh/uv',
  uvx: 'https://docs.astral.sh/uv',
  pipx: 'https://pipx.pypa.io',
  python: 'https://www.python.org',
  python3: 'https://www.python.org',
  docker: 'https://docs.docker.com/get-docker',
  podman: 'https://podman.io',
  bun: 'https://bun.sh',
  bunx: 'https://bun.sh',
  deno: 'https://deno.com',
  go: 'https://go.dev',
  java: 'https://adoptium.net',
  dotnet: 'https://dotnet.microsoft.com',
};

export function explainMissing(command: string): string {
  const what = `the command "${command}" was not found`;
  const source = launchers[command];
  if (source !== undefined) return `${what}; install it (${source}), or add its folder to the PATH of the aggregator`;
  const near = /[\\/]/.test(command) ? '' : didYouMean(command, Object.keys(launchers));
  return near === '' ? `${what}; check its spelling and PATH` : `${what}${near}`;
}
