import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { hasBrowser, openBrowser } from '../browser.ts';
import { type Client, serverPath } from '../client.ts';
import { type AddCommand, createContext } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { awaitSettled } from '../settled.ts';
import { reportSettled } from './connect.ts';

interface LoginAnswer {
  state: 'active' | 'required' | 'expired' | null;
  changed_at: string | null;
  login_url: string;
}

const pollMs = 500;

export const addLogin: AddCommand = (program, environment) => {
  program
    .command('login')
    .description('log in to a server that requires it (OAuth), in the browser')
    .argument('<server>', 'name or id')
    .option('--no-browser', 'only print the link')
    .option('--no-wait', 'do not wait for the login')
    .option('--timeout <seconds>', 'timeout', '600')
    .action(async (name: string, options: { browser: boolean; wait: boolean; timeout: string }, self: Command) => {
      const context = createContext(self, environment);
      const { client, terminal } = context;
      const login = await client.post<LoginAnswer>(`${serverPath(name)}/login`);
      if (options.browser && hasBrowser(environment)) openBrowser(login.login_url);
      terminal.note('Open this page to log in:');
      if (terminal.json && !options.wait) return terminal.printJson(login);
      if (terminal.json) process.stderr.write(`${login.login_url}\n`);
      else terminal.print(login.login_url);
      if (!options.wait) return;
      const deadline = Date.now() + Number(options.timeout) * 1_000;
      await terminal.progress(`${name}: waiting for the login`, () => awaitLogin(client, name, login, deadline));
      reportSettled(await awaitSettled(client, name, () => undefined), context);
    });

  program
    .command('logout')
    .description('log out of a server; its tokens are revoked and deleted')
    .argument('<server>', 'name or id')
    .action(async (name: string, _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      await client.delete(`${serverPath(name)}/login`);
      if (terminal.json) terminal.printJson({ logged_out: name });
      else terminal.print(`Logged out of ${name}.`);
    });
};

async function awaitLogin(client: Client, name: string, before: LoginAnswer, deadline: number): Promise<void> {
  for (;;) {
    const now = await client.get<LoginAnswer>(`${serverPath(name)}/login`);
    if (now.state === 'active' && now.changed_at !== before.changed_at) return;
    if (Date.now() > deadline) throw new CommandFailure('failed', `Timed out waiting for the login to ${name}.`);
    await delay(pollMs);
  }
}
