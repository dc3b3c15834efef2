/** Who may log in to a server, and whose browser a ticket is for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../src/errors.ts';
import { mayLogIn } from '../../src/http/login-access.ts';
import { isFromHere, type PageContext } from '../../src/http/page.ts';
import type { Server } from '../../src/registry/registry.ts';
import type { Principal } from '../../src/security/auth.ts';

const server = (credentials: 'shared' | 'per_principal') => ({ name: 'any', options: { credentials } }) as Server;
const principal = (role: Principal['role']) => ({ id: '1', name: 'ann', role }) as Principal;

const logins: [role: Principal['role'], credentials: 'shared' | 'per_principal', refusal?: RegExp][] = [
  ['admin', 'shared'],
  ['admin', 'per_principal'],
  ['caller', 'per_principal'],
  ['caller', 'shared', /requires an admin; ann has the role caller/],
  ['viewer', 'per_principal', /requires the role caller; ann has the role viewer/],
  ['viewer', 'shared', /requires an admin; ann has the role viewer/],
];
for (const [role, credentials, refusal] of logins) {
  test(`a ${role} may ${refusal === undefined ? '' : 'not '}make a login that is ${credentials}`, () => {
    const check = () => mayLogIn(server(credentials), principal(role));
    if (refusal === undefined) assert.doesNotThrow(check);
    else assert.throws(check, (error) => error instanceof AppError && refusal.test(error.message));
  });
}

const requests: [what: string, headers: Record<string, string>, address: string, isHere: boolean][] = [
  ['this machine', { host: 'localhost:8000' }, '127.0.0.1', true],
  ['this machine over IPv6', { host: '127.0.0.1:8000' }, '::1', true],
  ['another machine', { host: 'localhost:8000' }, '10.0.0.7', false],
  ['another name', { host: 'example.com' }, '127.0.0.1', false],
  ['a proxy', { host: 'localhost:8000', 'x-forwarded-for': '10.0.0.7' }, '127.0.0.1', false],
  ['a proxy of the new kind', { host: 'localhost:8000', forwarded: 'for=10.0.0.7' }, '127.0.0.1', false],
  ['a request without a host', {}, '127.0.0.1', false],
];
for (const [what, headers, address, isHere] of requests) {
  test(`a ticket ${isHere ? 'vouches' : 'does not vouch'} for ${what}`, () => {
    assert.equal(isFromHere({ request: { headers }, address } as PageContext), isHere);
  });
}
