import { spawn } from 'node:child_process';

/** False over SSH and in containers, which have no display. */
export function hasBrowser(environment: NodeJS.ProcessEnv): boolean {
  if (process.stdout.isTTY !== true || environment.SSH_CONNECTION !== undefined) return false;
  if (process.platform === 'darwin' || process.platform === 'win32') return true;
  return environment.DISPLAY !== undefined || environment.WAYLAND_DISPLAY !== undefined;
}

const openers: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Errors are ignored, because the link is printed as well. */
export function openBrowser(url: string): void {
  const [command = 'xdg-open', ...args] = openers[process.platform] ?? [];
  spawn(command, [...args, url], { stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref();
}
