/** Messages name our commands as the user has to type them: installed, through npx, or in a clone. */

/** The headings of `--help`, with their commands. */
export const commandGroups: Readonly<Record<string, readonly string[]>> = {
  Begin: ['setup', 'add', 'import', 'connect-client', 'open'],
  Servers: [
    'list',
    'show',
    'tools',
    'edit',
    'rename',
    'enable',
    'disable',
    'connect',
    'disconnect',
    'remove',
    'login',
    'logout',
  ],
  Tools: ['call', 'search', 'query', 'skills', 'profile'],
  Run: ['serve', 'start', 'stop', 'restart', 'service', 'stdio', 'doctor'],
  Access: ['token', 'key', 'secret', 'sign-in', 'sign-out', 'audit'],
  Maintenance: ['export', 'rotate-key', 'completion', 'version', 'help'],
};

const names = Object.values(commandGroups).flat().join('|');
const command = new RegExp(`\\bmcp-aggregator (?=(?:${names})\\b)`, 'g');

/** What stands before the name of a command. */
export function ownWords(environment: Readonly<NodeJS.ProcessEnv>, script = process.argv[1] ?? ''): string {
  // The copy in the data directory was made by npx.
  if (/[\\/](?:_npx|app[\\/][^\\/]+)[\\/](?:.*[\\/])?node_modules[\\/]/.test(script)) return 'npx mcp-aggregator';
  const { npm_lifecycle_event: event, npm_package_name: name } = environment;
  return event === 'cli' && name === 'mcp-aggregator' ? 'npm run -s cli --' : 'mcp-aggregator';
}

export function inOwnWords(text: string, environment: Readonly<NodeJS.ProcessEnv>, script?: string): string {
  const words = ownWords(environment, script);
  return words === 'mcp-aggregator' ? text : text.replace(command, `${words} `);
}
