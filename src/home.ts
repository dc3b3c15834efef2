import { homedir } from 'node:os';

/** The user's directory. On Windows programs of Unix set HOME to something else, so it does not count there. */
export function homeOf(environment: Readonly<NodeJS.ProcessEnv>, platform: NodeJS.Platform = process.platform): string {
  return (platform === 'win32' ? environment.USERPROFILE : environment.HOME) ?? homedir();
}
