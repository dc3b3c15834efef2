/**
 * People sign in to our pages, to the dashboard and on the command line with the identity provider whose tokens open our
 * endpoints: the same person, with the same role, either way.
 */
import { z } from 'zod';
import { AppError } from '../errors.ts';
import type { Principal } from '../security/auth.ts';
import type { Vault } from '../security/credentials.ts';
import type { AccountChecks } from './account-checks.ts';
import { authorizationPage, codeIn, randomSecret } from './authorization-request.ts';
import type { ProviderClient } from './provider-client.ts';
import { type TokenAnswer, TokenRefused } from './token-endpoint.ts';

const goal = z.union([
  /** On to the login to this server. */
  z.strictObject({ server: z.string() }),
  /** On to the page for the keys of this server. */
  z.strictObject({ keys: z.string() }),
  /** On to this place in the dashboard. `lasting`: with access that we can check, for tokens of one's own. */
  z.strictObject({ place: z.string(), lasting: z.boolean().optional() }),
  /** On to a program on the person's computer, sealed. */
  z.strictObject({ program: z.string() }),
]);
/** Where the user goes after the sign-in. */
export type Goal = z.infer<typeof goal>;

export interface SignIn {
  readonly issuer: string;
  /** The provider's page, and a cookie that ties the answer to this browser. */
  begin(goal: Goal): Promise<ProviderPage>;
  /** With a cookie that takes the other one back; or the provider's page once more. */
  finish(
    parameters: URLSearchParams,
    cookieHeader: string | undefined,
  ): Promise<SignedInPerson | { again: ProviderPage }>;
}

interface ProviderPage {
  page: string;
  cookie: string;
}

interface SignedInPerson {
  principal: Principal;
  goal: Goal;
  cookie: string;
  /** How long what we found out holds, where the account cannot be checked. */
  lifetimeMs: number | undefined;
}

interface SignInOptions {
  client: ProviderClient;
  vault: Vault;
  checks: AccountChecks;
  /** True for the first who asks, at whichever replica. */
  spend: (pass: { id: string; expires: number }) => Promise<boolean>;
  baseUrl: () => string;
}

/**
 * What is asked for. lasting: a refresh token, where the provider offers one. consent: the same, and the person is asked,
 * because some providers give one only then. brief: none, because the provider does not allow our client to have one.
 */
const attempts = ['lasting', 'consent', 'brief'] as const;
type Attempt = (typeof attempts)[number];

const begun = z.object({
  browser: z.string(),
  verifier: z.string(),
  nonce: z.string(),
  goal,
  attempt: z.enum(attempts),
  expires: z.number(),
});
type BegunSignIn = z.infer<typeof begun>;

const lifetimeMs = 600_000;
const cookieName = 'mcp-aggregator-sign-in';

export function createSignIn({ client, vault, checks, spend, baseUrl }: SignInOptions): SignIn {
  const { issuer } = client;
  const redirectUri = () => `${baseUrl()}/oauth/sign-in/callback`;

  function toCookie(value: string, maxAgeMs: number): string {
    const secure = baseUrl().startsWith('https:') ? '; Secure' : '';
    // Lax: the provider sends the browser back to us by a link.
    return `${cookieName}=${value}; Path=/oauth/sign-in; HttpOnly; SameSite=Lax; Max-Age=${maxAgeMs / 1_000}${secure}`;
  }

  function openState(sealed: string): BegunSignIn {
    try {
      return begun.parse(vault.open(sealed, 'sign-in'));
    } catch (cause) {
      throw new AppError('FORBIDDEN', 'Unknown sign-in; start again', { cause });
    }
  }

  async function begin(wanted: Goal, attempt: Attempt = 'lasting'): Promise<ProviderPage> {
    const found = await client.metadata();
    const [browser, verifier, nonce] = [randomSecret(), randomSecret(), randomSecret()];
    const expires = Date.now() + lifetimeMs;
    const state = vault.seal({ browser, verifier, nonce, goal: wanted, attempt, expires }, 'sign-in');
    const page = authorizationPage(found, verifier, {
      client_id: client.clientId,
      redirect_uri: redirectUri(),
      scope: attempt === 'brief' ? withoutOffline(await client.scopes()) : await client.scopes(),
      state,
      nonce,
      prompt: attempt === 'consent' ? 'consent' : null,
    });
    return { page, cookie: toCookie(browser, lifetimeMs) };
  }

  async function redeem(parameters: URLSearchParams, code_verifier: string): Promise<TokenAnswer> {
    const code = codeIn(parameters, await client.metadata());
    const given = { grant_type: 'authorization_code', code, redirect_uri: redirectUri(), code_verifier };
    return await client.requestToken(given).catch((error: unknown) => {
      if (error instanceof TokenRefused) throw new AppError('FORBIDDEN', error.message, { cause: error });
      if (error instanceof AppError) throw error;
      throw new AppError('EXECUTION_FAILED', `${issuer} does not respond`, { cause: error });
    });
  }

  /** Undefined where what we have is good. */
  function nextAttempt({ attempt, goal: wanted }: BegunSignIn, parameters: URLSearchParams, answer?: TokenAnswer) {
    if (answer === undefined)
      return parameters.get('error') === 'invalid_scope' && attempt !== 'brief' ? 'brief' : undefined;
    const isNeeded = 'program' in wanted || ('place' in wanted && wanted.lasting === true);
    return isNeeded && answer.refresh_token === undefined && attempt === 'lasting' ? 'consent' : undefined;
  }

  return {
    issuer,
    begin: (wanted) => begin(wanted),

    async finish(parameters, cookieHeader) {
      const state = openState(parameters.get('state') ?? '');
      const { browser, verifier, nonce, expires } = state;
      const isSame = cookieHeader?.split(/;\s*/).includes(`${cookieName}=${browser}`) === true;
      if (!isSame || expires < Date.now()) {
        throw new AppError('FORBIDDEN', 'This sign-in was started in another browser or has expired; start again');
      }
      if (!(await spend({ id: nonce, expires }))) {
        throw new AppError('FORBIDDEN', 'This sign-in was already used; start again');
      }
      const refused = nextAttempt(state, parameters);
      if (refused !== undefined) return { again: await begin(state.goal, refused) };
      const answer = await redeem(parameters, verifier);
      const principal = await client.identify(answer, { nonce });
      if (principal === undefined) throw new AppError('FORBIDDEN', `${issuer} does not say who signed in`);
      const lacking = nextAttempt(state, parameters, answer);
      if (lacking !== undefined) return { again: await begin(state.goal, lacking) };
      const lasts = await checks.signIn(principal, answer.refresh_token);
      return { principal, goal: state.goal, cookie: toCookie('', 0), lifetimeMs: lasts ? undefined : briefMs(answer) };
    },
  };
}

const withoutOffline = (scope: string) => scope.replace(/ ?\boffline_access\b/, '');

/** As long as the access token that came with it. */
const briefMs = ({ expires_in: seconds = 3_600 }: TokenAnswer) => seconds * 1_000;
