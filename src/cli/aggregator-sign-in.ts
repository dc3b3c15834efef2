/** Signs a user in through the pages of the aggregator, which then gives this command line a token of the user. */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { randomSecret } from '../oauth/authorization-request.ts';
import { problemPage, signedInPage } from '../oauth/pages.ts';
import type { Client } from './client.ts';
import { CommandFailure } from './exit-code.ts';
import { createLoopbackRedirect } from './loopback-redirect.ts';

/** A session of this command line; its token creates tokens for clients. */
export interface AggregatorSession {
  issuer: string;
  name: string;
  role: string;
  token: string;
  token_id: string;
  expires_at: string | null;
}

const session = '/api/v1/session';

interface BrowserSignIn {
  /** Of this program, shown to the user. */
  name: string;
  port: number;
  timeoutMs: number;
  show(page: string): void;
}

/** The browser of this computer comes back to a port of it (RFC 8252). */
export async function signInByBrowser(client: Client, request: BrowserSignIn): Promise<AggregatorSession> {
  const { name, timeoutMs } = request;
  const [state, verifier] = [randomSecret(), randomSecret()];
  const redirect = await createLoopbackRedirect({ port: request.port, state });
  try {
    const { port } = new URL(redirect.redirectUri);
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    request.show(`${client.url}/oauth/program?${new URLSearchParams({ port, state, challenge, name })}`);
    const { parameters, show } = await redirect.answer(timeoutMs);
    try {
      const code = parameters.get('code') ?? '';
      const signedIn = await client.post<AggregatorSession>(`${session}/program`, { code, verifier });
      await show(signedInPage());
      return signedIn;
    } catch (error) {
      if (error instanceof CommandFailure) await show(problemPage(error.message), 400);
      throw error;
    }
  } finally {
    await redirect.close();
  }
}

interface DeviceCode {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string | null;
  expires_at: string;
  interval: number;
}

/** On another device (RFC 8628), for machines without a browser. */
export async function signInByDevice(
  client: Client,
  request: { name: string; timeoutMs: number; show(device: DeviceCode): void },
): Promise<AggregatorSession> {
  const { name } = request;
  const begun = await client.post<DeviceCode>(`${session}/device`, { name });
  request.show(begun);
  const deadline = Math.min(Date.parse(begun.expires_at), Date.now() + request.timeoutMs);
  for (let seconds = begun.interval; Date.now() + seconds * 1_000 < deadline; ) {
    await delay(seconds * 1_000);
    const { device_code } = begun;
    const answer = await client.post<AggregatorSession | { retry_after: number }>(`${session}/device/token`, {
      device_code,
    });
    if ('token' in answer) return answer;
    seconds = answer.retry_after;
  }
  throw new CommandFailure('failed', 'Timed out waiting for the sign-in.');
}
