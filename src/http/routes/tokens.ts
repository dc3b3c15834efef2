/** `/api/v1/tokens`: admins see, create and revoke all of them, everybody else their own. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import type { Accounts } from '../../security/accounts.ts';
import type { Audit } from '../../security/audit.ts';
import type { Authenticator, Principal } from '../../security/auth.ts';
import type { Token } from '../../security/known-token.ts';
import type { OwnTokens } from '../../security/own-tokens.ts';
import { isBound, isWithin, limitsOf } from '../../security/policy.ts';
import { type AnyRoute, route } from '../route.ts';

const tokenView = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(['admin', 'caller', 'viewer']),
  servers: z.array(z.string()).nullable(),
  profile: z.string().nullable(),
  created_at: z.string(),
  last_used_at: z.string().nullable(),
  expires_at: z.string().nullable(),
  created_by: z.string(),
  owner: z
    .object({ id: z.string(), name: z.string().nullable() })
    .nullable()
    .describe('the user who created it and with whom it ends; null: it is a user of its own'),
  origin: z.enum(['api', 'sign_in']).describe('sign_in: the session of the command line of its owner'),
  own: z.boolean().describe('whether it is one of yours'),
});

export const newToken = z.strictObject({
  name: z.string().min(1).max(255),
  role: z.enum(['admin', 'caller', 'viewer']).default('caller'),
  servers: z
    .array(z.string().min(1))
    .min(1)
    .max(1_000)
    .nullish()
    .describe('limits the token to these servers, by name'),
  profile: z.string().min(1).nullish().describe('limits the token to this profile'),
  expires_at: z.iso.datetime({ offset: true }).nullish(),
});

const wantedToken = newToken.extend({
  role: newToken.shape.role.unwrap().optional().describe('caller, or your own role if that is lower'),
  expires_at: newToken.shape.expires_at.describe(
    'your own tokens end after MCP_AGGREGATOR_OWN_TOKEN_DAYS at the latest, unless you are an admin',
  ),
  own: z
    .boolean()
    .optional()
    .describe(
      'true: the token is yours, with your keys and logins, and ends with you; always so unless you are an admin. ' +
        'false: it is a user of its own',
    ),
});

const creationView = z
  .object({
    allowed: z.boolean(),
    reason: z.string().nullable(),
    sign_in_url: z.string().nullable().describe('where you have to sign in before'),
    max_days: z.int().nullable().describe('maximum lifetime; null: no limit'),
  })
  .describe('whether you can create tokens of your own');

export interface TokenRouteDependencies {
  authenticator: Authenticator;
  accounts: Accounts;
  ownTokens: OwnTokens;
  ownTokenDays: number;
  audit: Audit;
}

export function tokenRoutes(deps: TokenRouteDependencies): AnyRoute[] {
  const { authenticator, accounts, ownTokens, audit } = deps;

  const nameOf = (user: string) => accounts.find(user)?.row.name ?? authenticator.findPrincipal(user)?.name ?? null;

  function toView(token: Token, principal: Principal): z.infer<typeof tokenView> {
    const { owner } = token;
    return {
      ...token,
      owner: owner === null ? null : { id: owner, name: nameOf(owner) },
      own: ownTokens.manages(principal, token),
    };
  }

  const maySee = (principal: Principal, token: Token) =>
    ownTokens.manages(principal, token) || (principal.role === 'admin' && isWithin(principal, token));

  function creation(principal: Principal): z.infer<typeof creationView> {
    const max_days = principal.role === 'admin' ? null : deps.ownTokenDays;
    try {
      ownTokens.requireOwner(principal);
      return { allowed: true, reason: null, sign_in_url: null, max_days };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const { sign_in_url = null } = error.context ?? {};
      return { allowed: false, reason: error.message, sign_in_url: sign_in_url as string | null, max_days };
    }
  }

  /** For another person or a program: without a user. */
  function createForOthers(principal: Principal, { role = 'caller', ...wanted }: z.infer<typeof wantedToken>) {
    const { name, servers = null, profile = null, expires_at: expiresAt } = wanted;
    if (principal.role !== 'admin') {
      throw new AppError(
        'FORBIDDEN',
        `Creating tokens for others requires the role admin; ${principal.name} has the role ${principal.role}`,
      );
    }
    if (!isWithin(principal, { servers, profile })) {
      const limits = limitsOf(principal);
      throw new AppError(
        'FORBIDDEN',
        `${principal.name} is limited to ${limits}; tokens that it creates must have the same limits`,
      );
    }
    return authenticator.createToken({ name, role, servers, profile, expiresAt }, principal.name);
  }

  return [
    route({
      method: 'POST',
      path: '/api/v1/tokens',
      tag: 'access',
      summary:
        'Create a token; its secret is shown only once. Everybody creates their own, admins also those of others',
      role: 'viewer',
      body: wantedToken,
      answers: {
        201: { description: 'The token', schema: tokenView.extend({ token: z.string() }) },
        403: { description: 'Beyond your role or limits; SIGN_IN_REQUIRED: sign in at context.sign_in_url first' },
        409: { description: 'You have too many tokens' },
      },
      async handle({ body, principal, address, reply }) {
        const isOwn = body.own ?? principal.role !== 'admin';
        const { token, row } = isOwn ? await ownTokens.create(principal, body) : await createForOthers(principal, body);
        const { id, name, role, servers, profile, expires_at, owner } = row;
        await audit.recordNow({
          event: 'token.created',
          actor: principal.name,
          ip_address: address,
          details: { token_id: id, name, role, servers, profile, expires_at, owner },
        });
        reply.status(201);
        return { ...toView(row, principal), token };
      },
    }),

    route({
      method: 'GET',
      path: '/api/v1/tokens',
      tag: 'access',
      summary: 'List tokens, without their secrets: all for admins, else your own',
      role: 'viewer',
      query: z.strictObject({ own: z.enum(['true', 'false']).optional().describe('true: only your own') }),
      answers: {
        200: {
          description: 'The tokens',
          schema: z.object({ tokens: z.array(tokenView), total: z.int(), creation: creationView }),
        },
      },
      handle({ principal, query }) {
        const seen = authenticator
          .listTokens()
          .filter((token) => maySee(principal, token))
          .map((token) => toView(token, principal))
          .filter(({ own }) => own || query.own !== 'true');
        const tokens = seen.sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
        return { tokens, total: tokens.length, creation: creation(principal) };
      },
    }),

    route({
      method: 'DELETE',
      path: '/api/v1/tokens/{id}',
      tag: 'access',
      summary: 'Revoke a token immediately, with the tokens that were created with it',
      role: 'viewer',
      params: z.object({ id: z.string().min(1) }),
      answers: { 204: { description: 'Revoked' }, 404: { description: 'Token not found' } },
      async handle({ params, principal, address, reply }) {
        const token = authenticator.listTokens().find(({ id }) => id === params.id);
        const isUnlimited = principal.role === 'admin' && !isBound(principal);
        const isTheirs = isUnlimited || (token !== undefined && maySee(principal, token));
        if (!isTheirs || !(await authenticator.revokeToken(params.id)))
          throw new AppError('NOT_FOUND', `Token not found: ${params.id}`);
        await audit.recordNow({
          event: 'token.revoked',
          actor: principal.name,
          ip_address: address,
          details: { token_id: params.id },
        });
        reply.status(204);
      },
    }),
  ];
}
