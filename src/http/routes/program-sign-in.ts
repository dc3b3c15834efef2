/** Signing in a command line: through the browser of the same computer, or on another device. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import type { BrowserSessions } from '../../oauth/browser-session.ts';
import type { OurClients } from '../../oauth/client-registration.ts';
import type { DeviceSignIn } from '../../oauth/device-sign-in.ts';
import { programPage } from '../../oauth/pages.ts';
import { type ProgramSignIn, programRequest } from '../../oauth/program-sign-in.ts';
import { signInRequired } from '../../oauth/request-authenticator.ts';
import type { SignIn } from '../../oauth/sign-in.ts';
import type { Accounts } from '../../security/accounts.ts';
import type { Audit } from '../../security/audit.ts';
import type { Principal } from '../../security/auth.ts';
import type { AuthenticationThrottle } from '../../security/authentication-throttle.ts';
import type { OwnTokens } from '../../security/own-tokens.ts';
import { sessionPath } from '../../security/page-session.ts';
import { asPage, html, show } from '../page.ts';
import { type AnyRoute, route } from '../route.ts';

export interface ProgramSignInRouteDependencies {
  signIn: SignIn | undefined;
  deviceSignIn: DeviceSignIn | undefined;
  programSignIn: ProgramSignIn;
  accounts: Accounts;
  ownTokens: OwnTokens;
  sessions: BrowserSessions;
  throttle: AuthenticationThrottle;
  audit: Audit;
  ours: OurClients;
}

const tag = 'access';
const sessionView = z.object({
  token: z.string().describe('shown only once'),
  token_id: z.string(),
  expires_at: z.string().nullable(),
  issuer: z.string(),
  name: z.string(),
  role: z.enum(['admin', 'caller', 'viewer']),
});
const tooMany = { description: 'Too many sign-ins; see Retry-After' };
const none = { description: 'No identity provider is configured' };
const confirmPath = '/oauth/program/confirm';

export function programSignInRoutes(deps: ProgramSignInRouteDependencies): AnyRoute[] {
  return [...browserRoutes(deps), ...deviceRoutes(deps)];
}

async function toSession(
  { ownTokens, audit }: ProgramSignInRouteDependencies,
  issuer: string,
  person: Principal,
  { name, address }: { name: string; address: string },
): Promise<z.infer<typeof sessionView>> {
  const { token, row } = await ownTokens.createSession(person, name);
  const details = { token_id: row.id, name, role: row.role, owner: person.id, expires_at: row.expires_at };
  await audit.recordNow({ event: 'token.created', actor: person.name, ip_address: address, details });
  return { token, token_id: row.id, expires_at: row.expires_at, issuer, name: person.name, role: person.role };
}

function browserRoutes(deps: ProgramSignInRouteDependencies): AnyRoute[] {
  const { signIn, programSignIn, accounts, sessions } = deps;

  function requireVisitor(cookie: string | undefined): Principal {
    const visitor = sessions.find(cookie);
    if (visitor === undefined)
      throw new AppError('FORBIDDEN', 'This sign-in was started in another browser; start again');
    // Its token is checked by the account.
    if (accounts.findActive(visitor.id) === undefined)
      throw signInRequired(new URL(deps.ours.everywhere().redirectUri).origin);
    return visitor;
  }

  return [
    route({
      method: 'GET',
      path: '/oauth/program',
      tag: 'login pages',
      summary: 'Sign in a program on this computer with the identity provider',
      role: 'public',
      query: programRequest.extend({ moved: z.literal('1').optional().describe('set by the aggregator') }),
      answers: { 303: { description: 'Redirect to the identity provider' } },
      handle: (context) =>
        asPage(context, async () => {
          const { query, request, reply } = context;
          if (signIn === undefined) throw new AppError('NOT_FOUND', 'No identity provider is configured');
          const { origin, host } = new URL(deps.ours.everywhere().redirectUri);
          const { moved, ...wanted } = query;
          // The cookie must be set on the host that the identity provider redirects back to.
          if (request.headers.host !== host && moved === undefined) {
            const there = new URLSearchParams({ ...wanted, port: String(wanted.port), moved: '1' });
            return reply.redirect(`${origin}/oauth/program?${there}`, 303);
          }
          const { page, cookie } = await signIn.begin({ program: programSignIn.seal(wanted) });
          return reply.header('set-cookie', cookie).redirect(page, 303);
        }),
    }),

    route({
      method: 'GET',
      path: confirmPath,
      tag: 'login pages',
      summary: 'Page that asks whether to sign in the program',
      role: 'public',
      query: z.object({ request: z.string().min(1) }),
      answers: { 200: html },
      handle: (context) =>
        asPage(context, async () => {
          const sealed = context.query.request;
          const { name } = programSignIn.open(sealed);
          const visitor = requireVisitor(context.request.headers.cookie);
          const formKey = sessions.createFormKey(visitor, `program ${sealed}`);
          return show(context, programPage({ program: name, principal: visitor, formKey }));
        }),
    }),

    route({
      method: 'POST',
      path: confirmPath,
      tag: 'login pages',
      summary: 'Confirm that page and return to the program',
      role: 'public',
      query: z.object({ request: z.string().min(1) }),
      answers: { 303: { description: 'Redirect to the program' } },
      handle: (context) =>
        asPage(context, async () => {
          const { query, request, reply } = context;
          const wanted = programSignIn.open(query.request);
          const visitor = requireVisitor(request.headers.cookie);
          const form = new URLSearchParams(String(request.body));
          if (!sessions.isFormKey(form.get('form_key'), visitor, `program ${query.request}`))
            throw new AppError('FORBIDDEN', 'This page has expired or belongs to another user; start again');
          return reply.redirect(await programSignIn.approve(wanted, visitor.id), 303);
        }),
    }),

    route({
      method: 'POST',
      path: `${sessionPath}/program`,
      tag,
      summary: 'Exchange the code of a program that was signed in for a token',
      role: 'public',
      body: z.strictObject({ code: z.string().min(1).max(256), verifier: z.string().min(43).max(128) }),
      answers: {
        200: { description: 'A token of the user, for the program', schema: sessionView },
        401: { description: 'The code is not valid' },
        429: tooMany,
      },
      async handle({ body, address }) {
        const { account, name } = await deps.throttle.check(
          address,
          () => programSignIn.redeem(body.code, body.verifier),
          (found) => found.account,
        );
        const person = accounts.findActive(account);
        if (person === undefined || signIn === undefined)
          throw new AppError('UNAUTHENTICATED', 'Not authenticated: sign in again');
        return await toSession(deps, signIn.issuer, person, { name, address });
      },
    }),
  ];
}

function deviceRoutes(deps: ProgramSignInRouteDependencies): AnyRoute[] {
  const { deviceSignIn, signIn } = deps;

  function requireDevice(): { device: DeviceSignIn; issuer: string } {
    if (deviceSignIn === undefined || signIn === undefined)
      throw new AppError('NOT_FOUND', 'No identity provider is configured');
    return { device: deviceSignIn, issuer: signIn.issuer };
  }

  return [
    route({
      method: 'POST',
      path: `${sessionPath}/device`,
      tag,
      summary: 'Begin to sign in on a machine without a browser (device flow)',
      role: 'public',
      body: z.strictObject({ name: z.string().min(1).max(100).describe('name of the program') }),
      answers: {
        201: {
          description: 'What the user opens and enters on another device',
          schema: z.object({
            device_code: z.string(),
            user_code: z.string(),
            verification_uri: z.string(),
            verification_uri_complete: z.string().nullable(),
            expires_at: z.string(),
            interval: z.number().describe('seconds between two questions'),
          }),
        },
        404: none,
        409: { description: 'The identity provider does not support it' },
        429: tooMany,
      },
      async handle({ body, reply }) {
        const { device } = requireDevice();
        const begun = await device.begin(body.name);
        reply.status(201);
        return begun;
      },
    }),

    route({
      method: 'POST',
      path: `${sessionPath}/device/token`,
      tag,
      summary: 'Ask whether the user has confirmed the sign-in, and get the token',
      role: 'public',
      body: z.strictObject({ device_code: z.string().min(1).max(16_384) }),
      answers: {
        200: { description: 'A token of the user, for the program', schema: sessionView },
        202: { description: 'Not yet', schema: z.object({ retry_after: z.number().describe('seconds') }) },
        403: { description: 'The user refused, or did not confirm in time' },
        404: none,
      },
      async handle({ body, address, reply }) {
        const { device, issuer } = requireDevice();
        const found = await device.poll(body.device_code);
        if ('principal' in found) return await toSession(deps, issuer, found.principal, { name: found.name, address });
        reply.status(202);
        return { retry_after: found.retryAfterSeconds };
      },
    }),
  ];
}
