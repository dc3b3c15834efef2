import type { Command } from 'commander';
import { openBrowser } from '../browser.ts';
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
