/** Whether the program at an address is the aggregator of a data directory. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { identityKeyFile, isSameProof, proveIdentity } from '../security/identity.ts';
import { CommandFailure } from './exit-code.ts';
import { readIfThere } from './read-if-there.ts';

const patienceMs = 5_000;

type Verdict = 'own' | 'stranger' | 'nobody';

export async function identify(url: string, dataDir: string): Promise<Verdict> {
  const nonce = randomBytes(32).toString('hex');
  const given = await ask(url, nonce);
  if (given === undefined) return 'nobody';
  // Read after the question, because an aggregator that has just started writes it first.
  const key = readIfThere(join(dataDir, identityKeyFile))?.trim();
  if (key === undefined) return 'stranger';
  const { port, protocol } = new URL(url);
  const expected = proveIdentity(key, { nonce, port: Number(port || (protocol === 'https:' ? 443 : 80)) });
  return isSameProof(given, expected) ? 'own' : 'stranger';
}

/** Something that is no proof where another program answers; undefined where none does. */
async function ask(url: string, nonce: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/api/v1/aggregator/identity`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ nonce }),
      redirect: 'manual',
      signal: AbortSignal.timeout(patienceMs),
    });
    const { proof } = (await response.json()) as { proof?: unknown };
    return String(proof);
  } catch (error) {
    return error instanceof SyntaxError ? '' : undefined;
  }
}

export function strangerAt(url: string, dataDir: string): CommandFailure {
  return new CommandFailure(
    'denied',
    `${url} is not the aggregator of ${dataDir}, so the token of that directory was not sent. Start the aggregator with: mcp-aggregator start. For another aggregator, use --token or --data-dir.`,
  );
}
