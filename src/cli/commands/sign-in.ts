import { hostname } from 'node:os';
import type { Command } from 'commander';
import { isLoopback } from '../../loopback.ts';
import type { IdentityProviderView } from '../../oauth/oauth.ts';
import type { AggregatorSession } from '../aggregator-sign-in.ts';
import { hasBrowser, openBrowser } from '../browser.ts';
import { api, createClient } from '../client.ts';
import { type AddCommand, createContext, globalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { toNumber } from '../numbers.ts';
import { findSignIn, type SignedIn, saveSignIn } from '../sign-ins.ts';
import { resolveTarget, type Target } from '../target.ts';

interface SignInFlags {
  browser: boolean;
  device?: boolean;
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
    .option('--device', 'confirm on another device, for machines without a browser')
    .option('--timeout <seconds>', 'timeout', '300')
    .option('--port <port>', 'port of the redirect URI on this host; 0 selects a free port', '0')
    .action(async (options: SignInFlags, self: Command) => {
      const { terminal } = createContext(self, environment);
      const target = resolveTarget(globalFlags(self), environment);
      const { url } = target;
      const provider = await findProvider(target);
      const show = (text: string, page: string) => {
        if (options.browser && options.device !== true && hasBrowser(environment)) openBrowser(page);
        terminal.note(text);
        if (terminal.json) process.stderr.write(`${page}\n`);
        else terminal.print(page);
      };
      const { signedIn, who } = await signInWith(provider, target, options, show);
      await saveSignIn(target.dataDir, url, signedIn);
      const { expires_at } = signedIn;
      if (terminal.json) terminal.printJson({ url, issuer: provider.issuer, ...who, expires_at });
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
      const revoked = await tryRevoke(signedIn, url);
      if (terminal.json) return terminal.printJson({ signed_out: url, revoked });
      terminal.print(`Signed out of ${url}.`);
      if (!revoked)
        terminal.note(`${issuerOf(signedIn)} did not confirm the revocation. Its tokens expire on their own.`);
    });
};

type Show = (text: string, page: string) => void;

/** With the pages of the aggregator; where it has no client for them, with a client of our own at the provider. */
async function signInWith(provider: IdentityProviderView, target: Target, options: SignInFlags, show: Show) {
  const timeoutMs = (toNumber(options.timeout, '--timeout') ?? 0) * 1_000;
  const port = toNumber(options.port, '--port') ?? 0;
  if (provider.dashboard !== null) {
    const signedIn = await signInToAggregator(target, options, { timeoutMs, port, show });
    return { signedIn, who: { name: signedIn.name, role: signedIn.role } };
  }
  if (options.device === true) {
    throw new CommandFailure(
      'conflict',
      `${target.url} has no client at ${provider.issuer}; set MCP_AGGREGATOR_OIDC_CLIENT_ID there`,
    );
  }
  const way = findWay(provider, target);
  const { signIn } = await import('../identity-provider.ts');
  return await signIn({
    ...way,
    port,
    timeoutMs,
    show: (page) => show(`Open this page to sign in at ${new URL(way.issuer).host}:`, page),
    identify: (token) => whoIs(target, token),
  });
}

async function signInToAggregator(
  { url, dataDir }: Target,
  { device }: SignInFlags,
  { timeoutMs, port, show }: { timeoutMs: number; port: number; show: Show },
): Promise<AggregatorSession> {
  const { signInByBrowser, signInByDevice } = await import('../aggregator-sign-in.ts');
  const client = createClient({ url, dataDir, source: 'sign-in', token: async () => undefined });
  const name = `mcp-aggregator on ${hostname()}`.slice(0, 100);
  if (device !== true) {
    return await signInByBrowser(client, {
      name,
      port,
      timeoutMs,
      show: (page) => show('Open this page to sign in:', page),
    });
  }
  return await signInByDevice(client, {
    name,
    timeoutMs,
    show({ user_code, verification_uri, verification_uri_complete }) {
      const page = verification_uri_complete ?? verification_uri;
      show(`Open this page on any device and confirm the code ${user_code}:`, page);
    },
  });
}

/** The identity provider of the aggregator. */
async function findProvider({ url, dataDir }: Target): Promise<IdentityProviderView> {
  const client = createClient({ url, dataDir, source: undefined, token: async () => undefined });
  const { identity_provider: provider } = await client.get<{ identity_provider: IdentityProviderView | null }>(
    '/api/v1/session/ways',
  );
  if (provider === null) {
    throw new CommandFailure('conflict', `${url} has no identity provider; use a token instead: --token`);
  }
  return provider;
}

/** A client for the command line at the identity provider, which is checked before it is trusted. */
function findWay({ issuer, command_line: way }: IdentityProviderView, { url }: Target) {
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
async function tryRevoke(signedIn: SignedIn, url: string): Promise<boolean> {
  try {
    if ('token' in signedIn) return await revokeSession(signedIn, url);
    const { revoke } = await import('../identity-provider.ts');
    return await revoke(signedIn);
  } catch (error) {
    if (error instanceof CommandFailure) return false;
    throw error;
  }
}

async function revokeSession({ token, token_id }: AggregatorSession, url: string): Promise<boolean> {
  const client = createClient({ url, dataDir: '', source: 'sign-in', token: async () => token });
  await client.delete(`/api/v1/tokens/${encodeURIComponent(token_id)}`);
  return true;
}

const issuerOf = (signedIn: SignedIn) => ('token' in signedIn ? 'The aggregator' : signedIn.issuer.issuer);
