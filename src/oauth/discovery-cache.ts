/** What servers say about their authorization servers, kept for the login that follows. */
import { AppError } from '../errors.ts';
import type { Challenge } from './challenge.ts';
import { type AuthorizationTarget, discover } from './discovery.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { type LoginTarget, trustOf } from './login-target.ts';

export interface DiscoveryCache {
  /** Undefined where the server names no authorization server. */
  discover(target: LoginTarget, challenge: Challenge, currentIssuer?: string): Promise<AuthorizationTarget | undefined>;
  /** As `discover`, but what was found a short while ago is good enough. */
  recent(target: LoginTarget, challenge: Challenge, currentIssuer?: string): Promise<AuthorizationTarget | undefined>;
  forget(serverId: string): void;
}

const lifetimeMs = 300_000;

export function createDiscoveryCache(fetch: GuardedFetch): DiscoveryCache {
  const discoveries = new Map<string, { found: AuthorizationTarget | undefined; at: number }>();

  async function discoverNow(
    { server, url, oauth }: LoginTarget,
    challenge: Challenge,
    currentIssuer?: string,
  ): Promise<AuthorizationTarget | undefined> {
    const found = await discover(fetch, {
      serverUrl: url,
      challenge,
      preferredIssuer: oauth.issuer ?? currentIssuer,
      trust: trustOf({ url, oauth }),
    });
    if (oauth.issuer !== undefined && found !== undefined && found.issuer.issuer !== oauth.issuer) {
      throw new AppError('SERVER_CONNECTION_FAILED', `the server does not name the configured issuer ${oauth.issuer}`);
    }
    discoveries.set(server.id, { found, at: Date.now() });
    return found;
  }

  return {
    discover: discoverNow,
    async recent(target, challenge, currentIssuer) {
      const known = discoveries.get(target.server.id);
      if (known !== undefined && Date.now() - known.at < lifetimeMs) return known.found;
      return await discoverNow(target, challenge, currentIssuer);
    },
    forget: (serverId) => void discoveries.delete(serverId),
  };
}
