/** The little of oidc-provider that the journeys use. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  export interface StoredToken {
    accountId: string;
    aud: string | string[];
    scope?: string;
    grantId: string;
    isExpired: boolean;
    destroy(): Promise<void>;
  }

  interface TokenModel {
    find(value: string): Promise<StoredToken | undefined>;
    revokeByGrantId(grantId: string): Promise<void>;
  }

  export interface GrantContext {
    oidc: { params?: Record<string, string> };
  }

  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    callback(): RequestListener;
    readonly AccessToken: TokenModel;
    readonly RefreshToken: TokenModel;
    on(event: 'grant.success' | 'grant.error', listener: (context: GrantContext) => void): this;
    on(event: 'access_token.saved' | 'refresh_token.saved', listener: (token: StoredToken) => void): this;
    on(event: 'server_error', listener: (context: unknown, error: Error) => void): this;
  }
}
