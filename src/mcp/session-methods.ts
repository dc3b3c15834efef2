/** The methods that concern a legacy session itself; servers answer the others. */
import { type JsonObject, rpcCodes } from '../json-rpc.ts';
import type { Result } from '../raw-result.ts';
import { ProtocolError } from './adapt-result.ts';
import type { LegacyPeer, Opener } from './legacy-peer.ts';
import { isLogLevel } from './log-levels.ts';
import type { Methods } from './methods.ts';
import type { McpCall } from './peer.ts';
import type { ResourceSubscriptions } from './resource-subscriptions.ts';
import type { Scope } from './scope.ts';
import { shortened } from './session-ids.ts';
import type { SessionDetails } from './session-records.ts';

interface SessionMethodOptions {
  kind: Opener['kind'];
  peer: LegacyPeer;
  subscriptions: ResourceSubscriptions;
  methods: Methods;
  ourInfo: JsonObject;
  /** Stores what a session that is opened again would not know. */
  save: (details: SessionDetails) => Promise<void>;
}

type HandleCall = (call: McpCall) => Result | Promise<Result>;

export function createSessionMethods(options: SessionMethodOptions): HandleCall {
  const { kind, peer, subscriptions, methods, ourInfo } = options;

  const saveDetails = () =>
    options.save({ logLevel: peer.current.client.logLevel, subscriptions: subscriptions.uris() });

  async function saving(change: Promise<JsonObject>): Promise<JsonObject> {
    const result = await change;
    await saveDetails();
    return result;
  }

  return (call) => {
    const { method, params } = call;
    switch (method) {
      case 'initialize':
        if (kind === 'sse') peer.introduce(shortened(params));
        return initializeResult(peer.current.protocolVersion, call.caller.scope, { methods, ourInfo });
      case 'ping':
        return {};
      case 'logging/setLevel':
        if (!isLogLevel(params.level))
          throw new ProtocolError(rpcCodes.invalidParams, 'params.level is not a log level');
        peer.current.client.logLevel = params.level;
        return saveDetails().then(() => ({}));
      case 'resources/subscribe':
        return saving(subscriptions.subscribe(call));
      case 'resources/unsubscribe':
        return saving(subscriptions.unsubscribe(String(params.uri)));
      default:
        return methods.handle(call);
    }
  };
}

function initializeResult(
  protocolVersion: string,
  offered: Scope,
  { methods, ourInfo }: Pick<SessionMethodOptions, 'methods' | 'ourInfo'>,
): JsonObject {
  const instructions = methods.instructions(offered);
  return {
    protocolVersion,
    capabilities: methods.capabilities(offered, 'legacy'),
    serverInfo: offered.single?.server_info ?? ourInfo,
    ...(instructions === undefined ? {} : { instructions }),
  };
}
