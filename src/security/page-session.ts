/** People at the dashboard: their token travels in a sealed cookie that no script can read. */
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import type { Gatekeeper, Principal } from './auth.ts';
import type { Vault } from './credentials.ts';

export interface PageRequest {
  method?: string;
  headers: IncomingHttpHeaders;
}

export interface PageSessions {
  /** Gives a request of our own page the Authorization of its session; any other request stays as it is. */
  admit(request: PageRequest): void;
  /** Checks the token; the session that it begins, as a Set-Cookie header. */
  begin(token: string, headers: IncomingHttpHeaders): Promise<{ principal: Principal; cookie: string }>;
  end(headers: IncomingHttpHeaders): string;
  /** A code that signs in once, with the same token. */
  createCode(token: string): { code: string; expiresAt: string };
  /** The token behind a code, which is worth nothing from now on. */
  redeem(code: string): string;
}

const sessionSeconds = 12 * 3_600;
const codeMs = 5 * 60_000;
export const sessionPath = '/api/v1/session';
/** Browsers drop cookies of more than 4,096 bytes without a word, and sealing makes a token a third longer. */
const longestToken = 2_800;
const sealContext = 'page session';
const sessionContent = z.object({ id: z.string(), token: z.string(), until: z.number() });
type Session = z.infer<typeof sessionContent>;

export function createPageSessions({
  vault,
  gatekeeper,
  now = Date.now,
}: {
  vault: Vault;
  gatekeeper: Gatekeeper;
  now?: () => number;
}): PageSessions {
  const codes = new Map<string, { token: string; until: number }>();
  /** Sessions that were signed out before their time; a copied cookie must not outlive that. */
  const ended = new Map<string, number>();

  function forgetOld<Value>(map: Map<string, Value>, untilOf: (value: Value) => number): void {
    for (const [key, value] of map) if (untilOf(value) <= now()) map.delete(key);
  }

  function find(headers: IncomingHttpHeaders): Session | undefined {
    const sealed = cookieIn(headers.cookie, cookieName(headers));
    if (sealed === undefined) return undefined;
    let content: unknown;
    try {
      content = vault.open(sealed, sealContext);
    } catch (error) {
      // Sealed with another key, or by another aggregator on this host: whoever sent it is simply not signed in.
      if (error instanceof AppError) return undefined;
      throw error;
    }
    const { data: session } = sessionContent.safeParse(content);
    return session === undefined || session.until <= now() || ended.has(session.id) ? undefined : session;
  }

  return {
    admit(request) {
      const { headers } = request;
      if (headers.cookie === undefined || headers.authorization !== undefined || !isOwnPage(request)) return;
      const session = find(headers);
      if (session !== undefined) headers.authorization = `Bearer ${session.token}`;
    },

    async begin(token, headers) {
      const authorization = `Bearer ${token}`;
      const principal = await gatekeeper.authenticate({ authorization, loopbackListener: false, path: sessionPath });
      if (token.length > longestToken) throw new AppError('VALIDATION_ERROR', 'This token is too long for a cookie');
      const session: Session = {
        id: randomBytes(16).toString('base64url'),
        token,
        until: now() + sessionSeconds * 1_000,
      };
      return { principal, cookie: toCookie(headers, vault.seal(session, sealContext), sessionSeconds) };
    },

    end(headers) {
      forgetOld(ended, (until) => until);
      const session = find(headers);
      if (session !== undefined) ended.set(session.id, session.until);
      return toCookie(headers, '', 0);
    },

    createCode(token) {
      forgetOld(codes, ({ until }) => until);
      const code = randomBytes(24).toString('base64url');
      const until = now() + codeMs;
      codes.set(code, { token, until });
      return { code, expiresAt: new Date(until).toISOString() };
    },

    redeem(code) {
      const entry = codes.get(code);
      codes.delete(code);
      if (entry === undefined || entry.until <= now()) {
        throw new AppError(
          'UNAUTHENTICATED',
          'This link was used already or is too old; get a new one: mcp-aggregator open',
        );
      }
      return entry.token;
    },
  };
}

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

/** Cookies don't tell ports apart either: two aggregators on one host would sign each other's people out. */
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
