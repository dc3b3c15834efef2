/**
 * Which server a resource URI belongs to. Servers choose their URIs freely, so two may use the same one: then
 * each is offered under an address that names its server.
 */
import type { CatalogItem } from '../catalog/catalog.ts';
import { AppError } from '../errors.ts';
import { isObject, type JsonObject } from '../json-rpc.ts';
import { linkingMembers, memberOf, RawResult, type Result } from '../raw-result.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Principal } from '../security/auth.ts';
import type { Scope } from './scope.ts';
import { isSkillUri, ownersOfSkillFile, qualifySkill, skillsOfOthers } from './skills.ts';
import { type ComparisonBudget, matchesTemplate } from './uri-template.ts';

const scheme = 'mcp-aggregator://';
/** A server that links to very much forgets what it linked to itself, and nothing of the others'. */
const maxLinksPerServer = 500;
/** Principals and servers, each pair with its links. */
const maxPairs = 500;
const maxLinkLength = 2_048;
/** Characters that are compared with the templates of one server: to find one resource, and for all links of a result. */
const maxFindWork = 100_000;
const maxClaimWork = 1_000_000;

/** How a link was shown: as its server spelt it, or under an address that names the server. */
type Spelling = 'plain' | 'qualified';

interface OfferedResource {
  uri: string;
  item: CatalogItem;
}

export interface ResourceOwners {
  /** The list as clients see it: a URI that two servers use is qualified for both. */
  offered(scope: Scope, kind: 'resource' | 'resource_template'): OfferedResource[];
  /** The server and the URI as that server knows it. */
  find(scope: Scope, uri: string, principal: Principal): { server: Server; uri: string };
  /** From a URI of the server's to the address under which a client can use it. */
  addressesOf(scope: Scope, server: Server): (uri: string) => string;
  /**
   * A result with the addresses that clients can use. Results may link to resources that no list has: they are known to
   * the principal that got the result.
   */
  present(scope: Scope, server: Server, result: Result, principal: Principal): Result;
}

export function createResourceOwners(servers: Pick<Registry, 'find' | 'list'>): ResourceOwners {
  /** By principal and server: what one of them was told must not lead another astray. */
  const linked = new Map<string, { principal: string; serverId: string; uris: Map<string, Spelling> }>();

  function note(uri: string, server: Server, principal: Principal, spelling: Spelling): void {
    if (uri.length > maxLinkLength) return;
    const key = `${server.id} ${principal.id}`;
    const pair = linked.get(key) ?? { principal: principal.id, serverId: server.id, uris: new Map() };
    renew(linked, key, maxPairs);
    linked.set(key, pair);
    renew(pair.uris, uri, maxLinksPerServer);
    pair.uris.set(uri, spelling);
  }

  function linkedBy(uri: string, principal: Principal, spelling: Spelling): Server[] {
    const isLinked = (pair: { uris: Map<string, Spelling> }) =>
      spelling === 'plain' ? pair.uris.get(uri) === 'plain' : pair.uris.has(uri);
    const pairs = [...linked.values()].filter((pair) => pair.principal === principal.id && isLinked(pair));
    return pairs.map(({ serverId }) => servers.find(serverId)).filter((server) => server !== undefined);
  }

  return {
    offered(scope, kind) {
      const items = scope.listItems(kind);
      const count = new Map<string, number>();
      for (const { key } of items) count.set(key, (count.get(key) ?? 0) + 1);
      return items.map((item) => ({
        item,
        uri: (count.get(item.key) ?? 0) > 1 ? qualify(item.server, item.key) : item.key,
      }));
    },

    find(scope, uri, principal) {
      if (scope.single !== undefined) return { server: scope.single, uri };
      const [skillOwner, ...more] = isSkillUri(uri) ? ownersOfSkillFile(scope, uri) : [];
      if (skillOwner !== undefined && more.length === 0) return skillOwner;
      const owners = new Map<string, Server>();
      const qualified = unqualify(uri);
      const plain = qualified?.uri ?? uri;
      const isMeant = (server: Server) =>
        scope.sees(server) && (qualified === undefined || qualified.server === server.name);
      const candidate = (server: Server | undefined) => {
        if (server !== undefined && isMeant(server)) owners.set(server.id, server);
      };
      const workOf = workPerServer(maxFindWork);
      const covering = (claims: boolean) => {
        if (owners.size > 0) return;
        for (const { key, server } of scope.listItems('resource_template'))
          if (claimsScheme(key) === claims && (key === plain || matchesTemplate(key, plain, workOf(server))))
            candidate(server);
      };
      for (const item of scope.listItems('resource')) if (item.key === plain) candidate(item.server);
      // A link is no claim, because any server can link to any URI. A template that fits every address is none either.
      covering(true);
      const spelling = qualified === undefined ? 'plain' : 'qualified';
      if (owners.size === 0) for (const server of linkedBy(plain, principal, spelling)) candidate(server);
      covering(false);
      if (owners.size === 0) candidate(onlyWithResources(scope, servers.list().filter(isMeant)));
      const [server, ...others] = owners.values();
      if (server === undefined)
        throw new AppError('RESOURCE_NOT_FOUND', `Resource not found: ${uri}`, { context: { uri } });
      if (others.length === 0) return { server, uri: plain };
      const candidates = [...owners.values()].map((owner) => qualify(owner, plain));
      throw new AppError(
        'RESOURCE_NOT_FOUND',
        `Several servers have the resource ${uri}; use one of ${candidates.join(', ')}`,
        {
          context: { uri, candidates },
        },
      );
    },

    addressesOf(scope, server) {
      const isClaimed = claimsOfOthers(scope, server);
      return (uri) => (isClaimed(uri) ? qualify(server, uri) : uri);
    },

    present(scope, server, result, principal) {
      if (scope.single !== undefined || (result instanceof RawResult && !result.hasUri)) return result;
      const isClaimed = claimsOfOthers(scope, server);
      let count = 0;
      return withUris(result, (uri) => {
        count += 1;
        if (count > maxLinksPerServer) return uri;
        const isShared = isClaimed(uri) || linkedBy(uri, principal, 'plain').some(({ id }) => id !== server.id);
        note(uri, server, principal, isShared ? 'qualified' : 'plain');
        return isShared ? qualify(server, uri) : uri;
      });
    },
  };
}

/** Servers have resources that no list shows: they can only be those of a server that has any. Many declare none. */
function onlyWithResources(scope: Scope, servers: readonly Server[]): Server | undefined {
  const declared = servers.filter(({ capabilities }) => capabilities?.resources !== undefined);
  const items = [...scope.listItems('resource'), ...scope.listItems('resource_template')];
  const listing = declared.filter(({ id }) => items.some(({ server }) => server.id === id));
  const [only, ...others] = listing.length === 0 ? declared : listing;
  return others.length === 0 ? only : undefined;
}

/** Whether another server of the scope lists the URI or has a template for it. */
function claimsOfOthers(scope: Scope, server: Server): (uri: string) => boolean {
  const { id } = server;
  const others = <Item extends { server: Server }>(items: Item[]) => items.filter((item) => item.server.id !== id);
  const listed = new Set(others(scope.listItems('resource')).map(({ key }) => key));
  const templates = others(scope.listItems('resource_template')).filter(({ key }) => claimsScheme(key));
  const hasSkill = skillsOfOthers(scope, server);
  const workOf = workPerServer(maxClaimWork);
  // Where it takes too long to tell, the address names the server, which is never wrong.
  const claims = (uri: string) =>
    templates.some((item) => {
      const work = workOf(item.server);
      return matchesTemplate(item.key, uri, work) || work.left < 0;
    });
  return (uri) => (isSkillUri(uri) ? hasSkill(uri) : listed.has(uri) || claims(uri));
}

function workPerServer(each: number): (server: Server) => ComparisonBudget {
  const works = new Map<string, ComparisonBudget>();
  return ({ id }) => {
    const work = works.get(id) ?? { left: each };
    works.set(id, work);
    return work;
  };
}

/** Makes a key the newest, and room for it. */
function renew(kept: Pick<Map<string, unknown>, 'delete' | 'size' | 'keys'>, key: string, max: number): void {
  kept.delete(key);
  if (kept.size < max) return;
  const oldest = kept.keys().next();
  if (!oldest.done) kept.delete(oldest.value);
}

const claimsScheme = (template: string) => /^[a-z][a-z0-9+.-]*:/i.test(template);

function qualify(server: Server, uri: string): string {
  if (isSkillUri(uri)) return qualifySkill(server, uri);
  return `${scheme}${server.name}/${uri}`;
}

function unqualify(uri: string): { server: string; uri: string } | undefined {
  if (!uri.startsWith(scheme)) return undefined;
  const slash = uri.indexOf('/', scheme.length);
  return slash === -1 ? undefined : { server: uri.slice(scheme.length, slash), uri: uri.slice(slash + 1) };
}

/** Links and embedded resources in tool results, prompt messages and resource contents, each with another address. */
function withUris(result: Result, addressOf: (uri: string) => string): Result {
  const changed: JsonObject = {};
  for (const name of linkingMembers) {
    const given = memberOf(result, name);
    const shown = name === 'messages' ? inMessages(given, addressOf) : inParts(given, addressOf);
    if (shown !== given) changed[name] = shown;
  }
  if (Object.keys(changed).length === 0) return result;
  if (!(result instanceof RawResult)) return { ...result, ...changed };
  const written = Object.entries(changed).map(([name, value]) => [name, JSON.stringify(value)]);
  return result.withChanges(Object.fromEntries(written));
}

/** Each function returns what it was given where nothing changes. */
function inMessages(messages: unknown, addressOf: (uri: string) => string): unknown {
  return mapped(messages, (message) => {
    if (!isObject(message)) return message;
    const content = inParts(message.content, addressOf);
    return content === message.content ? message : { ...message, content };
  });
}

function inParts(parts: unknown, addressOf: (uri: string) => string): unknown {
  return Array.isArray(parts) ? mapped(parts, (part) => inPart(part, addressOf)) : inPart(parts, addressOf);
}

function inPart(part: unknown, addressOf: (uri: string) => string): unknown {
  if (!isObject(part)) return part;
  if (isObject(part.resource)) {
    const resource = inPart(part.resource, addressOf);
    return resource === part.resource ? part : { ...part, resource };
  }
  if (typeof part.uri !== 'string') return part;
  const uri = addressOf(part.uri);
  return uri === part.uri ? part : { ...part, uri };
}

function mapped(list: unknown, change: (one: unknown) => unknown): unknown {
  if (!Array.isArray(list)) return list;
  const after = list.map(change);
  return after.every((one, at) => one === list[at]) ? list : after;
}
