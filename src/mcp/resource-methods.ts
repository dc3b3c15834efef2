/** Resources, the files of skills, and completions: a server is found by the address that the client knows. */
import { isObject, type JsonObject, rpcCodes } from '../json-rpc.ts';
import { type Result, toObject } from '../raw-result.ts';
import type { Server } from '../registry/registry.ts';
import type { Router } from '../routing/router.ts';
import { ProtocolError } from './adapt-result.ts';
import type { McpCall, Peer } from './peer.ts';
import type { ResourceOwners } from './resource-owners.ts';
import { withSkillAddresses } from './skills.ts';

interface ResourceMethods {
  getSkill(call: McpCall): Promise<JsonObject>;
  readDirectory(call: McpCall): Promise<JsonObject>;
  complete(call: McpCall): Promise<Result>;
  /** Where `params.uri` leads. */
  locate(call: McpCall): { server: Server; params: JsonObject };
}

/** Their requests send no notifications and ask no questions: a completion is requested while a user types. */
const quiet = { notify: undefined, ask: undefined, pause: undefined };

export function createResourceMethods({ router, owners }: { router: Router; owners: ResourceOwners }): ResourceMethods {
  function locate({ params, caller }: McpCall) {
    if (typeof params.uri !== 'string') throw new ProtocolError(rpcCodes.invalidParams, 'params.uri must be a string');
    const { server, uri } = owners.find(caller.scope, params.uri, caller.principal);
    return { server, params: { ...params, uri } };
  }

  async function relayFile(call: McpCall): Promise<{ server: Server; result: JsonObject }> {
    const { server, params } = locate(call);
    return { server, result: toObject(await router.relay({ ...call, ...quiet, server, params })) };
  }

  /** What a completion is about, as its server knows it. */
  function findReferred({ type, name, uri }: JsonObject, { scope, principal }: Peer) {
    if (type === 'ref/prompt' && typeof name === 'string') {
      const prompt = scope.findPrompt(name);
      return { server: prompt.server, known: { name: prompt.key } };
    }
    if (type === 'ref/resource' && typeof uri === 'string') {
      const owner = owners.find(scope, uri, principal);
      return { server: owner.server, known: { uri: owner.uri } };
    }
    throw new ProtocolError(
      rpcCodes.invalidParams,
      'params.ref must be a ref/prompt with a name or a ref/resource with a uri',
    );
  }

  return {
    locate,

    async getSkill(call) {
      const { server, result } = await relayFile(call);
      const { skill } = result;
      if (!isObject(skill)) return result;
      return { ...result, skill: withSkillAddresses(skill, owners.addressesOf(call.caller.scope, server)) };
    },

    async readDirectory(call) {
      const { server, result } = await relayFile(call);
      const addressOf = owners.addressesOf(call.caller.scope, server);
      return { ...result, resources: withSkillAddresses({ resources: result.resources }, addressOf).resources };
    },

    async complete(call) {
      const { params, caller } = call;
      const ref = isObject(params.ref) ? params.ref : {};
      const { server, known } = findReferred(ref, caller);
      return await router.relay({ ...call, ...quiet, server, params: { ...params, ref: { ...ref, ...known } } });
    },
  };
}
