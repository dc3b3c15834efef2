/** Dashboard sessions: the token is stored in a sealed cookie that scripts cannot read. */
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import type { Database } from '../store/database.ts';
import type { SignInCodeRow } from '../store/schema.ts';
import {
  findSignInCode,
  findSpentPasses,
  insertSignInCode,
  insertSpentPass,
  takeSignInCode,
} from '../store/sign-in.ts';
import { createStoredCollection } from '../store/stored-collection.ts';
import type { Principal, RequestAuthenticator } from './auth.ts';
import type { Vault } from './credentials.ts';

export interface PageRequest {
  method?: string;
  headers: IncomingHttpHeaders;
}

export interface PageSessions {
  /** The Authorization of a request; of one of our own page that has none, the token of its session. */
  authorizationOf(request: PageRequest): string | undefined;
  /** Checks the token and returns a Set-Cookie header for its session. */
  begin(token: string, headers: IncomingHttpHeaders): Promise<{ principal: Principal; cookie: string }>;
  end(headers: IncomingHttpHeaders): Promise<string>;
  /** A code that signs in once, with the same token, at any replica. */
  createCode(token: string): Promise<{ code: string; expiresAt: string }>;
  /** The token of the session of a request from our own page. */
  tokenOf(request: PageRequest): string | undefined;
  /** The token of a code, without using the code up. */
  peek(code: string): Promise<string>;
  /** The token of a code, which is used up. */
  redeem(code: string): Promise<string>;
  /** Reads again which sessions were ended, after another replica ended one. */
  reload(): Promise<void>;
}

interface PageSessionOptions {
  db: Database;
  vault: Vault;
  requestAuthenticator: RequestAuthenticator;
  changes: Changes;
  now?: () => number;
}

const sessionSeconds = 12 * 3_600;
const codeMs = 5 * 60_000;
export const sessionPath = '/api/v1/session';
/** Browsers silently drop cookies of more than 4,096 bytes, and sealing makes a token a third longer. */
const maxToken = 2_800;
const sealContext = 'page session';
const sessionContent = z.object({ id: z.string(), token: z.string(), until: z.number() });
type PageSession = z.infer<typeof sessionContent>;

export async function createPageSessions(options: PageSessionOptions): Promise<PageSessions> {
  const { db, vault, requestAuthenticator, changes, now = Date.now } = options;
  /** Sessions that were signed out before they expired, so that a copied cookie is rejected. */
  const ended = await createStoredCollection<string, number>({
    async load() {
      const rows = await findSpentPasses(db);
      return rows
        .map(({ id, expires_at }): [string, number] => [id, Date.parse(expires_at)])
        .filter(([, until]) => until > now());
    },
    replicated: { changes, topic: 'page_sessions.stored' },
  });

  function find(headers: IncomingHttpHeaders): PageSession | undefined {
    const sealed = cookieIn(headers.cookie, cookieName(headers));
    if (sealed === undefined) return undefined;
    let content: unknown;
    try {
      content = vault.open(sealed, sealContext);
    } catch (error) {
      // Sealed with another key or by another aggregator on this host: treated as not signed in.
      if (error instanceof AppError) return undefined;
      throw error;
    }
    const { data: session } = sessionContent.safeParse(content);
    return session === undefined || session.until <= now() || ended.entries.has(session.id) ? undefined : session;
  }

  function tokenIn(row: SignInCodeRow | undefined): string {
    if (row === undefined || Date.parse(row.expires_at) <= now()) {
      throw new AppError(
        'UNAUTHENTICATED',
        'This link was already used or is too old; get a new one: mcp-aggregator open',
      );
    }
    return z.string().parse(vault.open(row.sealed, codeContext(row.code_hash)));
  }

  return {
    authorizationOf(request) {
      const { cookie, authorization } = request.headers;
      if (cookie === undefined || authorization !== undefined || !isOwnPage(request)) return authorization;
      const session = find(request.headers);
      return session === undefined ? undefined : `Bearer ${session.token}`;
    },

    tokenOf: (request) => (isOwnPage(request) ? find(request.headers)?.token : undefined),

    async begin(token, headers) {
      const authorization = `Bearer ${token}`;
      const principal = await requestAuthenticator.authenticate({
        authorization,
        loopbackListener: false,
        path: sessionPath,
      });
      if (token.length > maxToken) throw new AppError('VALIDATION_ERROR', 'This token is too long for a cookie');
      const session: PageSession = {
        id: randomBytes(16).toString('base64url'),
        token,
        until: now() + sessionSeconds * 1_000,
      };
      return { principal, cookie: toCookie(headers, vault.seal(session, sealContext), sessionSeconds) };
    },

    async end(headers) {
      const session = find(headers);
      if (session !== undefined) {
        await ended.change(async (entries) => {
          await insertSpentPass(db, { id: session.id, expires_at: new Date(session.until).toISOString() });
          entries.set(session.id, session.until);
        });
      }
      return toCookie(headers, '', 0);
    },

    async createCode(token) {
      const code = randomBytes(24).toString('base64url');
      const code_hash = hash(code);
      const expires_at = new Date(now() + codeMs).toISOString();
      await insertSignInCode(db, { code_hash, sealed: vault.seal(token, codeContext(code_hash)), expires_at });
      return { code, expiresAt: expires_at };
    },

    peek: async (code) => tokenIn(await findSignInCode(db, hash(code))),
    redeem: async (code) => tokenIn(await takeSignInCode(db, hash(code))),

    reload: () => ended.reload(),
  };
}

/** The database stores only the hash of a code, so read access does not allow signing in. */
const hash = (code: string) => createHash('sha256').update(code).digest('hex');
const codeContext = (codeHash: string) => `sign-in code:${codeHash}`;

/**
 * SameSite=Strict does not tell ports apart, so a page on another port of this host still sends our cookie. Browsers
 * name the origin of everything that changes something, and say of the rest whether it came from the same origin.
 */
export function isOwnPage({ method = 'GET', headers }: PageRequest): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  if (origin !== undefined) return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
  return method === 'GET' || method === 'HEAD';
}

/** Cookies are shared between ports, so two aggregators on one host need different names. */
function cookieName({ host }: IncomingHttpHeaders): string {
  const port = /:(\d+)$/.exec(host ?? '')?.[1];
  return port === undefined ? 'mcp_aggregator' : `mcp_aggregator_${port}`;
}

function toCookie(headers: IncomingHttpHeaders, value: string, maxAge: number): string {
  const secure = headers.origin?.startsWith('https://') === true ? '; Secure' : '';
  return `${cookieName(headers)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`;
}

function cookieIn(header: string | undefined, name: string): string | undefined {
  const start = `${name}=`;
  const pair = header
    ?.split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(start));
  return pair?.slice(start.length);
}
