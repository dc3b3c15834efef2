import type { Command } from 'commander';
import { isLoopback } from '../../loopback.ts';
import type { IdentityProviderView } from '../../oauth/oauth.ts';
import { hasBrowser, openBrowser } from '../browser.ts';
import { api, createClient } from '../client.ts';
import { type AddCommand, createContext, globalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { toNumber } from '../numbers.ts';
import { findSignIn, type SignedIn, saveSignIn } from '../sign-ins.ts';
import { resolveTarget, type Target } from '../target.ts';

interface SignInFlags {
  browser: boolean;
  timeout: string;
  port: string;
}

interface Who {
  name: string;
  role: string;
}

export const addSignIn: AddCommand = (program, environment) => {
  program
    .command('sign-in')
    .description('sign in to the aggregator with its identity provider, in the browser')
    .option('--no-browser', 'only print the link')
    .option('--timeout <seconds>', 'timeout', '300')
    .option('--port <port>', 'port of the redirect URI on this host; 0 selects a free port', '0')
    .action(async (options: SignInFlags, self: Command) => {
      const { terminal } = createContext(self, environment);
      const target = resolveTarget(globalFlags(self), environment);
      const way = await findWay(target);
      const { signIn } = await import('../identity-provider.ts');
      const timeoutMs = (toNumber(options.timeout, '--timeout') ?? 0) * 1_000;
      const { signedIn, who } = await signIn({
        ...way,
        port: toNumber(options.port, '--port') ?? 0,
        timeoutMs,
        show(page) {
          if (options.browser && hasBrowser(environment)) openBrowser(page);
          terminal.note(`Open this page to sign in at ${new URL(way.issuer).host}:`);
          if (terminal.json) process.stderr.write(`${page}\n`);
          else terminal.print(page);
        },
        identify: (token) => whoIs(target, token),
      });
      await saveSignIn(target.dataDir, target.url, signedIn);
      const { url } = target;
      const { expires_at } = signedIn;
      if (terminal.json) terminal.printJson({ url, issuer: way.issuer, ...who, expires_at });
      else terminal.print(`Signed in to ${url} as ${who.name} (${who.role}).`);
    });

  program
    .command('sign-out')
    .description('sign out of the aggregator and revoke the tokens')
    .action(async (_options, self: Command) => {
      const { terminal } = createContext(self, environment);
      const { url, dataDir } = resolveTarget(globalFlags(self), environment);
      const signedIn = findSignIn(dataDir, url);
      if (signedIn === undefined) throw new CommandFailure('notFound', `You are not signed in to ${url}.`);
      await saveSignIn(dataDir, url, undefined);
      const revoked = await tryRevoke(signedIn);
      if (terminal.json) return terminal.printJson({ signed_out: url, revoked });
      terminal.print(`Signed out of ${url}.`);
      if (!revoked)
        terminal.note(`${signedIn.issuer.issuer} did not confirm the revocation. Its tokens expire on their own.`);
    });
};

/** The identity provider of the aggregator, checked before it is trusted. */
async function findWay({ url, dataDir }: Target) {
  const client = createClient({ url, dataDir, source: undefined, token: async () => undefined });
  const { identity_provider: provider } = await client.get<{ identity_provider: IdentityProviderView | null }>(
    '/api/v1/session/ways',
  );
  if (provider === null) {
    throw new CommandFailure('conflict', `${url} has no identity provider; use a token instead: --token`);
  }
  const { issuer, command_line: way } = provider;
  if (way === null) {
    throw new CommandFailure(
      'conflict',
      `${url} has no client for the command line at ${issuer}; set MCP_AGGREGATOR_OIDC_CLI_CLIENT_ID there`,
    );
  }
  // A token for another address must not be sent to this one.
  if (new URL(way.resource).origin !== new URL(url).origin) {
    throw new CommandFailure('usage', `The address of this aggregator is ${way.resource}; use: --url ${way.resource}`);
  }
  if (isLoopback(new URL(issuer).hostname) && !isLoopback(new URL(url).hostname)) {
    throw new CommandFailure('denied', `${url} names an identity provider on your own host (${issuer})`);
  }
  return { issuer, ...way };
}

async function whoIs({ url, dataDir }: Target, token: string): Promise<Who> {
  const client = createClient({ url, dataDir, source: 'sign-in', token: async () => token });
  const who = await client.get<Who | undefined>('/api/v1/session');
  if (who !== undefined) return { name: who.name, role: who.role };
  // An empty answer means not authenticated; another request returns the reason.
  await client.get(`${api}/servers?limit=1`);
  throw new CommandFailure('denied', `${url} did not recognize the user.`);
}

/** The sign-in is deleted even if the provider cannot be reached. */
async function tryRevoke(signedIn: SignedIn): Promise<boolean> {
  const { revoke } = await import('../identity-provider.ts');
  try {
    return await revoke(signedIn);
  } catch (error) {
    if (error instanceof CommandFailure) return false;
    throw error;
  }
}
