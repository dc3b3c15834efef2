/** The tokens that users create for themselves: within what they may do, with an end, and with their own end. */
import type { Config } from '../config/config.ts';
import { AppError, ValidationError } from '../errors.ts';
import type { Role } from '../store/schema.ts';
import type { Authenticator, Principal } from './auth.ts';
import type { Token } from './known-token.ts';
import { isWithin, limitsOf, lowerRole, userOf } from './policy.ts';

interface WantedToken {
  name: string;
  role?: Role;
  servers?: string[] | null;
  profile?: string | null;
  expires_at?: string | null;
}

export interface OwnTokens {
  /** Whose token a new one would be. Throws where the principal may not create any. */
  requireOwner(principal: Principal): string;
  create(principal: Principal, wanted: WantedToken): Promise<{ token: string; row: Token }>;
  /** The session of a person on the command line. */
  createSession(person: Principal, name: string): Promise<{ token: string; row: Token }>;
  /** Whether the principal may see and revoke it as one of its own. */
  manages(principal: Principal, token: Token): boolean;
}

interface OwnTokenDependencies {
  config: Pick<Config, 'ownTokenDays'>;
  authenticator: Authenticator;
  /** Throws for a person whose account cannot be checked. */
  requireCheckable: (accountId: string) => void;
  isAccount: (id: string) => boolean;
}

const maxOwn = 100;
const dayMs = 86_400_000;

export function createOwnTokens(deps: OwnTokenDependencies): OwnTokens {
  const { authenticator } = deps;
  const dayLimit = deps.config.ownTokenDays;
  const latest = () => Date.now() + dayLimit * dayMs;

  const rowOf = ({ id }: Principal) => authenticator.listTokens().find((token) => token.id === id);

  function requireOwner(principal: Principal): string {
    if (principal.id === 'anonymous') throw new AppError('FORBIDDEN', 'Sign in to create tokens of your own');
    if (deps.isAccount(principal.id)) deps.requireCheckable(principal.id);
    // A client that was given a token must not outlive its revocation by another one.
    if (isOfClient(rowOf(principal))) {
      throw new AppError(
        'FORBIDDEN',
        `${principal.name} is a token of a user for a client; only the user creates tokens`,
      );
    }
    return userOf(principal);
  }

  function endOf(principal: Principal, wanted: string | null): string | null {
    if (principal.role === 'admin' && wanted === null) return null;
    const end = wanted === null ? latest() : Date.parse(wanted);
    if (principal.role !== 'admin' && end > latest()) {
      const msg = `must be within ${dayLimit} days (MCP_AGGREGATOR_OWN_TOKEN_DAYS)`;
      throw new ValidationError([{ loc: ['body', 'expires_at'], msg, type: 'value_error' }]);
    }
    return new Date(end).toISOString();
  }

  async function store(owner: string, principal: Principal, token: Parameters<Authenticator['createToken']>[0]) {
    const count = authenticator.listTokens().filter((known) => known.owner === owner).length;
    if (count >= maxOwn) {
      throw new AppError('TOKEN_LIMIT_REACHED', `Token limit reached: you have ${count} tokens; revoke one first`);
    }
    return await authenticator.createToken({ ...token, owner }, principal.name);
  }

  return {
    requireOwner,

    async create(principal, { name, role = lowerRole('caller', principal.role), expires_at = null, ...wanted }) {
      const owner = requireOwner(principal);
      if (lowerRole(role, principal.role) !== role) {
        throw new AppError(
          'FORBIDDEN',
          `${principal.name} has the role ${principal.role}; your tokens cannot have the role ${role}`,
        );
      }
      const servers = wanted.servers ?? (principal.servers && [...principal.servers]);
      const profile = wanted.profile ?? principal.profile;
      if (!isWithin(principal, { servers, profile })) {
        throw new AppError('FORBIDDEN', `${principal.name} is limited to ${limitsOf(principal)}; so are your tokens`);
      }
      return await store(owner, principal, { name, role, servers, profile, expiresAt: endOf(principal, expires_at) });
    },

    createSession: (person, name) =>
      store(person.id, person, {
        name,
        role: person.role,
        expiresAt: new Date(latest()).toISOString(),
        origin: 'sign_in',
      }),

    manages(principal, token) {
      if (token.id === principal.id) return true;
      if (token.owner === null || token.owner !== userOf(principal)) return false;
      return !isOfClient(rowOf(principal));
    },
  };
}

/** Created by a user, for a client. */
function isOfClient(row: Token | undefined): boolean {
  return row !== undefined && row.owner !== null && row.origin !== 'sign_in';
}
