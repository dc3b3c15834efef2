/**
 * Which server a resource URI belongs to. Servers choose their URIs freely, so two may use the same one: then nobody
 * guesses, and each is offered under an address that names its server.
 */
import type { CatalogItem } from '../catalog/catalog.ts';
import { AppError } from '../errors.ts';
import { isObject } from '../json-rpc.ts';
import { linkingMembers, memberOf, RawResult, type Result } from '../raw-result.ts';
import type { Server } from '../registry/registry.ts';
import type { Principal } from '../security/auth.ts';
import type { Scope } from './scope.ts';
import { matchesTemplate } from './uri-template.ts';

const scheme = 'mcp-aggregator://';
/** A server that links to very much forgets what it linked to itself, and nothing of the others'. */
const maxLinksPerServer = 500;
/** Principals and servers, each pair with its links. */
const maxPairs = 500;
const maxLinkLength = 2_048;

interface OfferedResource {
  uri: string;
  item: CatalogItem;
}

export interface ResourceOwners {
  /** The list as clients see it: a URI that two servers use is qualified for both. */
  offered(scope: Scope, kind: 'resource' | 'resource_template'): OfferedResource[];
  /** The server and the URI as that server knows it. */
  find(scope: Scope, uri: string, principal: Principal): { server: Server; uri: string };
  /** Results may link to resources that no list has: known to whoever got the result. */
  remember(server: Server, result: Result, principal: Principal): void;
}

export function createResourceOwners(findServer: (id: string) => Server | undefined): ResourceOwners {
  /** By principal and server: what one of them was told must not lead another astray. */
  const linked = new Map<string, { principal: string; serverId: string; uris: Set<string> }>();

  function note(uri: string, server: Server, principal: Principal): void {
    if (uri.length > maxLinkLength) return;
    const key = `${server.id} ${principal.id}`;
    const pair = linked.get(key) ?? { principal: principal.id, serverId: server.id, uris: new Set() };
    renew(linked, key, maxPairs);
    linked.set(key, pair);
    renew(pair.uris, uri, maxLinksPerServer);
    pair.uris.add(uri);
  }

  function linkedBy(uri: string, principal: Principal): Server[] {
    const pairs = [...linked.values()].filter((pair) => pair.principal === principal.id && pair.uris.has(uri));
    return pairs.map(({ serverId }) => findServer(serverId)).filter((server) => server !== undefined);
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
      const owners = new Map<string, Server>();
      const qualified = unqualify(uri);
      const plain = qualified?.uri ?? uri;
      const candidate = (server: Server | undefined) => {
        if (
          server !== undefined &&
          scope.sees(server) &&
          (qualified === undefined || qualified.server === server.name)
        ) {
          owners.set(server.id, server);
        }
      };
      const covering = (claims: boolean) => {
        if (owners.size > 0) return;
        for (const { key, server } of scope.listItems('resource_template'))
          if (claimsScheme(key) === claims && (key === plain || matchesTemplate(key, plain))) candidate(server);
      };
      for (const item of scope.listItems('resource')) if (item.key === plain) candidate(item.server);
      // A link is no claim: anybody can link to anything. A template that fits every address is none either.
      covering(true);
      if (owners.size === 0) for (const server of linkedBy(plain, principal)) candidate(server);
      covering(false);
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

    remember(server, result, principal) {
      eachUri(result, (uri) => note(uri, server, principal));
    },
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
  return `${scheme}${server.name}/${uri}`;
}

function unqualify(uri: string): { server: string; uri: string } | undefined {
  if (!uri.startsWith(scheme)) return undefined;
  const slash = uri.indexOf('/', scheme.length);
  return slash === -1 ? undefined : { server: uri.slice(scheme.length, slash), uri: uri.slice(slash + 1) };
}

/** Links and embedded resources in tool results, prompt messages and resource contents. */
function eachUri(result: Result, take: (uri: string) => void): void {
  if (result instanceof RawResult && !result.hasUri) return;
  const [content, contents, messages] = linkingMembers.map((name) => memberOf(result, name));
  eachUriIn(content, take);
  eachUriIn(contents, take);
  if (!Array.isArray(messages)) return;
  for (const message of messages) if (isObject(message)) eachUriIn(message.content, take);
}

function eachUriIn(parts: unknown, take: (uri: string) => void): void {
  if (Array.isArray(parts)) return parts.forEach((part) => void takeUri(part, take));
  takeUri(parts, take);
}

function takeUri(part: unknown, take: (uri: string) => void): void {
  if (!isObject(part)) return;
  const { uri } = isObject(part.resource) ? part.resource : part;
  if (typeof uri === 'string') take(uri);
}
