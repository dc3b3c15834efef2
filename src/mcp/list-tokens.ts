/** What lists of tools cost the models that read them, and what a client of a profile would get. */
import { Cancellation } from '../cancellation.ts';
import type { ProfileDefinition } from '../catalog/profile.ts';
import { type JsonObject, modernVersions } from '../json-rpc.ts';
import { estimateTokens } from '../query/results/tokens.ts';
import { toDirectCaller } from '../routing/call.ts';
import type { Principal } from '../security/auth.ts';
import { createListings, type ListingDependencies } from './listings.ts';
import { createScopes, type Scope, type ScopeDependencies } from './scope.ts';

export interface ListPreview {
  /** What `auto` comes to. */
  exposure: 'all' | 'search';
  /** As they would be listed, the aggregator's own first. */
  tools: { name: string; tokens: number }[];
  tokens: number;
  /** The tools that can be called: listed, or found by searching. */
  available: { name: string; tokens: number }[];
  available_tokens: number;
}

export type PreviewList = (definition: ProfileDefinition, principal: Principal) => ListPreview;

/** Definitions are replaced, never changed. */
const known = new WeakMap<JsonObject, number>();

function tokensOf(definition: JsonObject): number {
  const tokens = known.get(definition) ?? estimateTokens(JSON.stringify(definition));
  known.set(definition, tokens);
  return tokens;
}

export function tokensOfAll(scope: Scope): number {
  return scope.listTools().reduce((sum, { tool }) => sum + tokensOf(tool.row.definition), 0);
}

export const tokensOfList = (tools: readonly JsonObject[]): number =>
  tools.reduce((sum, tool) => sum + estimateTokens(JSON.stringify(tool)), 0);

export function createListPreview(deps: ListingDependencies & Omit<ScopeDependencies, 'findProfile'>): PreviewList {
  const listings = createListings(deps);
  return (definition, principal) => {
    const name = 'preview';
    const scopeOf = createScopes({ ...deps, findProfile: () => ({ ...definition, name }) });
    const scope = scopeOf({ kind: 'profile', name }, principal);
    const caller = {
      ...toDirectCaller({ principal, address: '' }),
      era: 'modern',
      protocolVersion: modernVersions[0],
      address: '',
      scope,
      client: { info: { name, version: '1' }, capabilities: {} },
    } as const;
    const call = { method: 'tools/list', params: {}, caller, signal: new Cancellation(), notify: () => undefined };
    const listed = listings.tools(call).tools as (JsonObject & { name: string })[];
    const tools = listed.map((tool) => ({ name: tool.name, tokens: estimateTokens(JSON.stringify(tool)) }));
    const available = scope.listTools().map(({ name: shown, tool }) => ({
      name: shown,
      tokens: tokensOf(tool.row.definition),
    }));
    return {
      exposure: scope.searchOnly() ? 'search' : 'all',
      tools,
      tokens: sumOf(tools),
      available,
      available_tokens: sumOf(available),
    };
  };
}

const sumOf = (tools: readonly { tokens: number }[]) => tools.reduce((sum, { tokens }) => sum + tokens, 0);
