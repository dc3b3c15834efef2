import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import { type AddCommand, createContext } from '../command.ts';

export const addOpen: AddCommand = (program, environment) => {
  program
    .command('open')
    .description('open the dashboard in a browser, signed in')
    .option('--no-browser', 'only print the link')
    .action(async (options: { browser: boolean }, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const link = await client.post<{ path: string; expires_at: string }>('/api/v1/session/links');
      const url = `${client.url}${link.path}`;
      if (terminal.json) terminal.printJson({ url, expires_at: link.expires_at });
      else terminal.print(url);
      terminal.note('The link works once, within five minutes.');
      if (options.browser && terminal.canAsk) openBrowser(url);
    });
};

const openers: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** A machine without a browser still has the printed link. */
function openBrowser(url: string): void {
  const [command = 'xdg-open', ...args] = openers[process.platform] ?? [];
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
