/** Tokens of the client credentials grant: no login is needed, each replica requests its own when one is due. */
import { AppError } from '../errors.ts';
import type { Secrets } from '../security/secrets.ts';
import { type Challenge, scopesOf } from './challenge.ts';
import type { DiscoveryCache } from './discovery-cache.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { configuredClient, type LoginPlan, type LoginTarget, trustOf } from './login-target.ts';
import { bearer, chooseScopes, type Refusal } from './refusals.ts';
import { expiryOf, requestToken, TokenRefused } from './token-endpoint.ts';

export interface MachineTokens {
  /** Empty until a refusal has told where tokens come from. */
  headers(target: LoginTarget): Promise<Record<string, string>>;
  /** True: there is another token now. */
  renew(target: LoginTarget, challenge: Challenge, refusal: Pick<Refusal, 'attempt'>): Promise<boolean>;
  forget(serverId: string): void;
}

interface MachineToken {
  token: string;
  expiresAt: number;
  plan: LoginPlan;
  madeFor: string;
}

const renewBeforeMs = 10_000;

export function createMachineTokens(fetch: GuardedFetch, secrets: Secrets, discoveries: DiscoveryCache): MachineTokens {
  const machines = new Map<string, MachineToken>();

  async function request(target: LoginTarget, plan: LoginPlan): Promise<string> {
    const client = configuredClient(target, plan.issuer.issuer);
    if (client === undefined || (client.client_secret === undefined && client.private_key === undefined)) {
      throw new AppError(
        'SERVER_CONNECTION_FAILED',
        'client_credentials need oauth.client_id and oauth.client_secret or oauth.private_key in connection_config',
      );
    }
    const answer = await requestToken(
      fetch,
      { issuer: plan.issuer, client, trust: plan.trust },
      { grant_type: 'client_credentials', scope: plan.scope, resource: plan.resource },
    ).catch((error: unknown) => {
      if (!(error instanceof TokenRefused)) throw error;
      throw new AppError('SERVER_CONNECTION_FAILED', error.message, { cause: error });
    });
    const { id } = target.server;
    const expires = expiryOf(answer);
    const expiresAt = expires === null ? Number.POSITIVE_INFINITY : Date.parse(expires);
    machines.set(id, { token: answer.access_token, expiresAt, plan, madeFor: purposeOf(target) });
    secrets.learnFrom(id, `oauth:machine:${id}`, [answer.access_token]);
    return answer.access_token;
  }

  return {
    async headers(target) {
      const machine = machines.get(target.server.id);
      if (machine === undefined || machine.madeFor !== purposeOf(target)) return {};
      if (Date.now() < machine.expiresAt - renewBeforeMs) return bearer(machine.token);
      return bearer(await request(target, machine.plan));
    },
    async renew(target, challenge, { attempt }) {
      if (attempt > 0) return false;
      const found = await discoveries.discover(target, challenge);
      if (found === undefined) return false;
      const before = scopesOf(machines.get(target.server.id)?.plan.scope);
      const scope = chooseScopes({ oauth: target.oauth, challenge, before, found }).filter(
        (one) => one !== 'offline_access',
      );
      await request(target, { ...found, scope: scope.join(' ') || undefined, trust: trustOf(target) });
      return true;
    },
    forget: (serverId) => void machines.delete(serverId),
  };
}

/** Another one makes another token necessary. */
const purposeOf = ({ url, oauth }: LoginTarget) => JSON.stringify([url, oauth]);
