/** What `tools/list` and its like answer: everything that a scope offers, on one page. */
import type { Catalog } from '../catalog/catalog.ts';
import type { Kind } from '../catalog/discover.ts';
import { type JsonObject, rpcCodes } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import { adaptTool, ProtocolError } from './adapt-result.ts';
import { hasApps, isApp, withAppAddress } from './apps.ts';
import type { GatewayTools } from './gateway-tools.ts';
import type { McpCall } from './peer.ts';
import type { ResourceOwners } from './resource-owners.ts';
import type { OfferedTool } from './scope.ts';
import { withSkillAddresses } from './skills.ts';

export interface ListingDependencies {
  catalog: Catalog;
  owners: ResourceOwners;
  gatewayTools: GatewayTools;
  listServers: () => Server[];
}

export function createListings({ catalog, owners, gatewayTools, listServers }: ListingDependencies) {
  function listed({ caller, params }: McpCall, kind: Kind, member: string, entries: JsonObject[]): JsonObject {
    // Everything is on the first page, so there is no cursor that we could have given.
    if (params.cursor !== undefined) throw new ProtocolError(rpcCodes.invalidParams, 'Unknown cursor');
    if (caller.era === 'legacy') return { [member]: entries };
    const servers = listServers().filter((server) => caller.scope.sees(server));
    const { ttlMs, cacheScope } = catalog.cacheHints(servers, kind);
    const isFiltered = caller.principal.servers !== null || caller.principal.profile !== null;
    return { [member]: entries, ttlMs, cacheScope: isFiltered ? 'private' : cacheScope };
  }

  return {
    tools(call: McpCall): JsonObject {
      const { scope } = call.caller;
      const showsApps = hasApps(call.caller.client.capabilities);
      const isOffered = scope.searchOnly()
        ? ({ tool }: OfferedTool) => showsApps && isApp(tool.row.definition)
        : undefined;
      const offered = isOffered === undefined ? scope.listTools() : scope.listTools().filter(isOffered);
      const addressesOf = oncePerServer((server) => owners.addressesOf(scope, server));
      const definitions = offered.map(({ name, tool, description }) => {
        const definition = withAppAddress(tool.row.definition, (uri) => addressesOf(tool.server)(uri));
        return adaptTool(call.caller, { ...definition, name, ...(description === undefined ? {} : { description }) });
      });
      return listed(call, 'tool', 'tools', [...gatewayTools.listed(scope), ...definitions]);
    },
    prompts(call: McpCall): JsonObject {
      const { scope } = call.caller;
      const prompts = scope.listItems('prompt').map((item) => ({ ...item.definition, name: scope.promptName(item) }));
      return listed(call, 'prompt', 'prompts', prompts);
    },
    resources(call: McpCall): JsonObject {
      const offered = owners.offered(call.caller.scope, 'resource');
      const resources = offered.map(({ uri, item }) => ({ ...item.definition, uri }));
      return listed(call, 'resource', 'resources', resources);
    },
    skills(call: McpCall): JsonObject {
      const { scope } = call.caller;
      const addressesOf = oncePerServer((server) => owners.addressesOf(scope, server));
      const skills = scope
        .listItems('skill')
        .map(({ definition, server }) => withSkillAddresses(definition, addressesOf(server)));
      return listed(call, 'skill', 'skills', skills);
    },
    resourceTemplates(call: McpCall): JsonObject {
      const offered = owners.offered(call.caller.scope, 'resource_template');
      const templates = offered.map(({ uri, item }) => ({ ...item.definition, uriTemplate: uri }));
      return listed(call, 'resource_template', 'resourceTemplates', templates);
    },
  };
}

function oncePerServer<Value>(make: (server: Server) => Value): (server: Server) => Value {
  const made = new Map<string, Value>();
  return (server) => {
    const value = made.get(server.id) ?? make(server);
    made.set(server.id, value);
    return value;
  };
}
