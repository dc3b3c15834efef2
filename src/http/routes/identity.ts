/** The proof that this process owns its data directory, for those who can read the directory. */
import { z } from 'zod';
import { proveIdentity } from '../../security/identity.ts';
import { type AnyRoute, route } from '../route.ts';

export interface IdentityRouteDependencies {
  identityKey: string;
}

export function identityRoutes({ identityKey }: IdentityRouteDependencies): AnyRoute[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/aggregator/identity',
      tag: 'state',
      summary: 'Prove that this process owns its data directory; the command line asks before it sends a token',
      role: 'public',
      body: z.strictObject({ nonce: z.string().min(16).max(256) }),
      answers: { 200: { description: 'The proof', schema: z.object({ proof: z.string() }) } },
      // The port of the connection: behind a forwarded port, there is no proof.
      handle: ({ body, request }) => ({
        proof: proveIdentity(identityKey, { nonce: body.nonce, port: request.socket.localPort ?? 0 }),
      }),
    }),
  ];
}
