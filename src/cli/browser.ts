import { spawn } from 'node:child_process';

/** Over SSH and in containers there is no screen to open anything on. */
export function hasBrowser(environment: NodeJS.ProcessEnv): boolean {
  if (process.stdout.isTTY !== true || environment.SSH_CONNECTION !== undefined) return false;
  if (process.platform === 'darwin' || process.platform === 'win32') return true;
  return environment.DISPLAY !== undefined || environment.WAYLAND_DISPLAY !== undefined;
}

const openers: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** The link is printed as well, so a browser that does not start is no failure. */
export function openBrowser(url: string): void {
  const [command = 'xdg-open', ...args] = openers[process.platform] ?? [];
  spawn(command, [...args, url], { stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref();
}
