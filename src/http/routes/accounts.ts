/** `/api/v1/accounts`: the people of the identity provider who were here, for admins. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { type Accounts, isCheckable } from '../../security/accounts.ts';
import type { Audit } from '../../security/audit.ts';
import type { Authenticator } from '../../security/auth.ts';
import { type AnyRoute, route } from '../route.ts';

const accountView = z.object({
  id: z.string(),
  name: z.string(),
  issuer: z.string(),
  role: z.enum(['admin', 'caller', 'viewer']).describe('as of the last sign-in or check'),
  profile: z.string().nullable(),
  state: z
    .enum(['active', 'unchecked', 'ended'])
    .describe(
      'active: the identity provider is asked about the account while it is in use. unchecked: the user never signed in ' +
        'to the aggregator, so only access tokens of the identity provider are accepted. ended: access has ended until the user signs in again',
    ),
  first_seen_at: z.string(),
  last_seen_at: z.string(),
  checked_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  tokens: z.int().describe('number of tokens that the user created'),
});

export interface AccountRouteDependencies {
  accounts: Accounts;
  authenticator: Authenticator;
  audit: Audit;
}

export function accountRoutes({ accounts, authenticator, audit }: AccountRouteDependencies): AnyRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/accounts',
      tag: 'access',
      summary: 'List the users of the identity provider who signed in or stored something',
      role: 'admin',
      unbound: true,
      answers: {
        200: { description: 'The users', schema: z.object({ accounts: z.array(accountView), total: z.int() }) },
      },
      handle() {
        const counts = new Map<string | null, number>();
        for (const { owner } of authenticator.listTokens()) counts.set(owner, (counts.get(owner) ?? 0) + 1);
        const list = accounts.list().map((account): z.infer<typeof accountView> => {
          const { id, name, issuer, role, profile, created_at, seen_at, checked_at, ended_at } = account.row;
          const state = ended_at !== null ? 'ended' : isCheckable(account) ? 'active' : 'unchecked';
          const tokens = counts.get(id) ?? 0;
          const times = { first_seen_at: created_at, last_seen_at: seen_at, checked_at, ended_at };
          return { id, name, issuer, role, profile, state, ...times, tokens };
        });
        return { accounts: list.sort((a, b) => (a.name < b.name ? -1 : 1)), total: list.length };
      },
    }),

    route({
      method: 'DELETE',
      path: '/api/v1/accounts/{id}',
      tag: 'access',
      summary:
        "End a user's access: sessions close, and tokens, keys and logins are deleted. The user can sign in again",
      role: 'admin',
      unbound: true,
      params: z.object({ id: z.string().min(1) }),
      answers: { 204: { description: 'Ended' }, 404: { description: 'User not found' } },
      async handle({ params: { id }, principal, address, reply }) {
        const account = accounts.find(id);
        if (account === undefined) throw new AppError('NOT_FOUND', `User not found: ${id}`);
        const tokens = await authenticator.revokeTokensOf(id);
        await accounts.end(id, { suspended: false });
        const { name } = account.row;
        const details = { account_id: id, name, tokens };
        await audit.recordNow({ event: 'account.ended', actor: principal.name, ip_address: address, details });
        reply.status(204);
      },
    }),
  ];
}
