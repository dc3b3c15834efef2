/**
 * Failed sign-ins in the audit, bounded so that they cannot fill it: the first one of an address at once, then their
 * number once a minute. Beyond a number of addresses, the others are counted together.
 */
import type { Changes } from '../changes.ts';
import type { Audit } from './audit.ts';

interface FailedAuthenticationAudit {
  /** Records the current counts. */
  flush(): void;
  close(): void;
}

const maxNetworks = 100;
const flushEveryMs = 60_000;

export function createFailedAuthenticationAudit(
  audit: Pick<Audit, 'record'>,
  changes: Changes,
): FailedAuthenticationAudit {
  const counts = new Map<string, { address: string; attempts: number }>();
  let others = 0;

  function record(ip_address: string | null, attempts: number): void {
    audit.record({ event: 'authentication.failed', actor: 'unknown', ip_address, details: { attempts } });
  }

  function flush(): void {
    for (const [network, count] of counts) {
      if (count.attempts === 0) counts.delete(network);
      else record(count.address, count.attempts);
      count.attempts = 0;
    }
    if (others > 0) record(null, others);
    others = 0;
  }

  const timer = setInterval(flush, flushEveryMs).unref();

  /** An IPv6 network counts as one address. */
  function add(address: string, network: string): void {
    const count = counts.get(network);
    if (count !== undefined) {
      count.address = address;
      count.attempts += 1;
    } else if (counts.size >= maxNetworks) {
      others += 1;
    } else {
      counts.set(network, { address, attempts: 0 });
      record(address, 1);
    }
  }

  const off = changes.subscribe('authentication.failed', ({ outcome, address, network }) => {
    if (outcome !== 'expired') add(address, network);
  });

  return {
    flush,
    close() {
      off();
      clearInterval(timer);
      flush();
    },
  };
}
