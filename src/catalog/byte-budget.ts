/** How many bytes servers' lists may have: each definition, each list, each server, and all of them together. */
import { AppError } from '../errors.ts';
import { jsonSize } from '../json-size.ts';
import { type Kind, kinds } from './discover.ts';

interface ByteLimits {
  maxDefinitionBytes: number;
  maxListBytes: number;
  maxServerBytes: number;
  maxCatalogBytes: number;
}

/** A list that is being read: it counts from its first byte. */
interface ListBudget {
  /** Throws where this is more than there may be. */
  take(definition: unknown): void;
  /** The list takes the place of the one before. */
  keep(): void;
  /** What was taken and not kept is free again. */
  release(): void;
}

export interface ByteBudget {
  /** What is in the catalog already. */
  record(serverId: string, kind: Kind, items: Iterable<{ definition: unknown }>): void;
  forget(serverId: string): void;
  open(serverId: string, kind: Kind): ListBudget;
}

/** What reads a definition goes down into it, and each level takes a part of the stack. */
const maxDepth = 200;

export function createByteBudget(limits: ByteLimits): ByteBudget {
  /** By server and kind. */
  const kept = new Map<string, Map<Kind, number>>();
  let keptInAll = 0;
  let underWay = 0;

  function set(serverId: string, kind: Kind, bytes: number): void {
    const own = kept.get(serverId) ?? new Map<Kind, number>();
    kept.set(serverId, own);
    keptInAll += bytes - (own.get(kind) ?? 0);
    own.set(kind, bytes);
  }

  function check(serverId: string, kind: Kind, bytes: number): void {
    const { method } = kinds[kind];
    const own = kept.get(serverId) ?? new Map<Kind, number>();
    const before = own.get(kind) ?? 0;
    if (bytes > limits.maxListBytes) throw tooLarge(`the result of ${method}`, 'List', limits.maxListBytes);
    const ofServer = [...own.values()].reduce((sum, one) => sum + one, 0);
    if (ofServer - before + bytes > limits.maxServerBytes)
      throw tooLarge(`the catalog of this server, including ${method},`, 'Server', limits.maxServerBytes);
    if (keptInAll - before + underWay > limits.maxCatalogBytes)
      throw tooLarge(`the catalog of all servers, including ${method} of this one,`, 'Catalog', limits.maxCatalogBytes);
  }

  return {
    record(serverId, kind, items) {
      let bytes = 0;
      for (const { definition } of items) bytes += jsonSize(definition).bytes;
      set(serverId, kind, bytes);
    },
    forget(serverId) {
      for (const kind of kept.get(serverId)?.keys() ?? []) set(serverId, kind, 0);
      kept.delete(serverId);
    },
    open(serverId, kind) {
      let taken = 0;
      const release = (): void => {
        underWay -= taken;
        taken = 0;
      };
      return {
        take(definition) {
          const { bytes, depth } = jsonSize(definition, limits.maxDefinitionBytes);
          const what = `a definition in ${kinds[kind].method}`;
          if (bytes > limits.maxDefinitionBytes) throw tooLarge(what, 'Definition', limits.maxDefinitionBytes);
          if (depth > maxDepth)
            throw new AppError('SERVER_DATA_TOO_LARGE', `${what} is nested more than ${maxDepth} levels deep`);
          taken += bytes;
          underWay += bytes;
          check(serverId, kind, taken);
        },
        keep() {
          set(serverId, kind, taken);
          release();
        },
        release,
      };
    },
  };
}

function tooLarge(what: string, limit: 'Definition' | 'List' | 'Server' | 'Catalog', bytes: number): AppError {
  const setting = `MCP_AGGREGATOR_MAX_${limit.toUpperCase()}_BYTES`;
  return new AppError(
    'SERVER_DATA_TOO_LARGE',
    `${what} is larger than ${bytes} bytes (${setting}); nothing was changed`,
  );
}
