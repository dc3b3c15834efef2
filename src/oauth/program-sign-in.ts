/**
 * Signing in a program on the person's own computer through the browser: the code goes to a port of that computer
 * (RFC 8252) and is worth nothing without the secret that the program keeps (RFC 7636).
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import type { Vault } from '../security/credentials.ts';
import type { Database } from '../store/database.ts';
import { insertSignInCode, takeSignInCode } from '../store/sign-in.ts';
import { randomSecret } from './authorization-request.ts';

export const programRequest = z.object({
  port: z.coerce.number().int().min(1).max(65_535).describe('port of the program on 127.0.0.1'),
  state: z.string().min(16).max(256).describe('returned to the program'),
  challenge: z
    .string()
    .regex(/^[\w-]{43}$/, 'must be a SHA-256 in base64url')
    .describe('SHA-256 of the verifier that the program sends with the code'),
  name: z.string().min(1).max(100).describe('name of the program, shown to the user'),
});
type ProgramRequest = z.infer<typeof programRequest>;

export interface ProgramSignIn {
  /** The request as it travels through the browser. */
  seal(request: ProgramRequest): string;
  open(sealed: string): ProgramRequest;
  /** Where the browser takes the code. */
  approve(request: ProgramRequest, account: string): Promise<string>;
  /** Whose code it is; it is used up. */
  redeem(code: string, verifier: string): Promise<{ account: string; name: string }>;
}

const requestMs = 900_000;
const codeMs = 120_000;
const sealedRequest = programRequest.extend({ expires: z.number() });
const sealedCode = z.object({ account: z.string(), name: z.string(), challenge: z.string() });

export function createProgramSignIn({ db, vault }: { db: Database; vault: Vault }): ProgramSignIn {
  return {
    seal: (request) => vault.seal({ ...request, expires: Date.now() + requestMs }, 'program sign-in'),

    open(sealed) {
      try {
        const { expires, ...request } = sealedRequest.parse(vault.open(sealed, 'program sign-in'));
        if (expires > Date.now()) return request;
      } catch (cause) {
        throw new AppError('FORBIDDEN', 'Unknown sign-in of a program; start again', { cause });
      }
      throw new AppError('FORBIDDEN', 'This sign-in of a program has expired; start again');
    },

    async approve({ port, state, challenge, name }, account) {
      const code = randomSecret();
      const code_hash = hash(code);
      const sealed = vault.seal({ account, name, challenge }, contextOf(code_hash));
      await insertSignInCode(db, { code_hash, sealed, expires_at: new Date(Date.now() + codeMs).toISOString() });
      return `http://127.0.0.1:${port}/callback?${new URLSearchParams({ code, state })}`;
    },

    async redeem(code, verifier) {
      const row = await takeSignInCode(db, hash(code));
      if (row === undefined || Date.parse(row.expires_at) < Date.now()) throw notValid();
      const { account, name, challenge } = sealedCode.parse(vault.open(row.sealed, contextOf(row.code_hash)));
      const given = createHash('sha256').update(verifier).digest();
      if (!timingSafeEqual(given, Buffer.from(challenge, 'base64url'))) throw notValid();
      return { account, name };
    },
  };
}

const notValid = () => new AppError('UNAUTHENTICATED', 'Not authenticated: the code is not valid; sign in again');

/** The database stores only the hash of a code, so read access does not allow signing in. */
const hash = (code: string) => createHash('sha256').update(code).digest('hex');
const contextOf = (codeHash: string) => `program code:${codeHash}`;
