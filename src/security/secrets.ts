import { sameList } from '../lists.ts';
import { createMask, type Mask, maskStrings } from './mask.ts';

/**
 * Every secret value that this process works with. Whatever leaves for a log, an error answer, the history or the
 * audit passes `mask`: servers repeat their credentials in error messages, and paths can't foresee where.
 */
export interface Secrets {
  /** Values from the configuration: masked in every text. */
  learn(owner: string, values: readonly string[]): void;
  /**
   * Values that a server or its authorization server chose: hidden in what comes from that server alone. It may have
   * chosen a word of our answers or of another server's.
   */
  learnFrom(serverId: string, owner: string, values: readonly string[]): void;
  forget(owner: string): void;
  /** With a server's id: for text of that server. */
  mask(text: string, serverId?: string): string;
  /** The same for a JSON value; returns the same object if nothing was masked. */
  maskJson<T>(value: T, serverId?: string): T;
  /** JSON of an object with masked secrets. */
  stringify(value: object): string;
}

/** Shorter values are ordinary words ("true", "admin", "8080"); masking them everywhere would make texts unreadable. */
const minLearned = 8;

export function createSecrets(): Secrets {
  const configured = createValues();
  const chosen = new Map<string, Values>();

  const mask = (text: string, serverId?: string): string => {
    const own = serverId === undefined ? undefined : chosen.get(serverId);
    return configured.mask(own === undefined ? text : own.mask(text));
  };

  return {
    learn: configured.set,
    learnFrom(serverId, owner, values) {
      const known = chosen.get(serverId) ?? createValues();
      chosen.set(serverId, known);
      known.set(owner, values);
    },
    forget(owner) {
      configured.set(owner, []);
      chosen.delete(owner);
      for (const known of chosen.values()) known.set(owner, []);
    },
    mask: (text, serverId) => mask(text, serverId),
    maskJson(value, serverId) {
      const text = JSON.stringify(value);
      if (text === undefined || mask(text, serverId) === text) return value;
      return maskStrings(value, (part) => mask(part, serverId));
    },
    stringify(value) {
      const text = JSON.stringify(value);
      return mask(text) === text ? text : JSON.stringify(maskStrings(value, (part) => mask(part)));
    },
  };
}

interface Values {
  set(owner: string, values: readonly string[]): void;
  mask: Mask;
}

/** The values of several owners and a lazily built mask for all of them. */
function createValues(): Values {
  const values = new Map<string, readonly string[]>();
  let mask: Mask | undefined;
  return {
    set(owner, learned) {
      const kept = learned.filter((value) => value.trim().length >= minLearned);
      if (sameList(values.get(owner) ?? [], kept)) return;
      if (kept.length === 0) values.delete(owner);
      else values.set(owner, kept);
      mask = undefined;
    },
    mask(text) {
      mask ??= createMask([...new Set([...values.values()].flat())], minLearned);
      return mask(text);
    },
  };
}
