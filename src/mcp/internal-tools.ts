/** Our own tools for callers without an MCP client: `POST /api/v1/tools/call`. */
import { Cancellation } from '../cancellation.ts';
import { ValidationError } from '../errors.ts';
import { isObject, type JsonObject, modernVersions, rpcCodes } from '../json-rpc.ts';
import { toObject } from '../raw-result.ts';
import type { Caller } from '../routing/call.ts';
import { ProtocolError } from './adapt-result.ts';
import type { GatewayTools } from './gateway-tools.ts';
import type { Methods } from './methods.ts';
import { createScopes, type ScopeDependencies } from './scope.ts';

export interface InternalTools {
  has(name: string): boolean;
  call(name: string, args: JsonObject, caller: Caller, signal: AbortSignal): Promise<JsonObject>;
}

interface InternalToolDependencies extends ScopeDependencies {
  methods: Methods;
  gatewayTools: GatewayTools;
}

export function createInternalTools(deps: InternalToolDependencies): InternalTools {
  const scopeOf = createScopes(deps);

  async function call(name: string, args: JsonObject, caller: Caller, signal: AbortSignal): Promise<JsonObject> {
    const { principal, address, trace } = caller;
    const cancel = new Cancellation();
    const abort = () => cancel.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    const peer = {
      era: 'modern',
      protocolVersion: modernVersions[0],
      principal,
      address: address ?? '',
      scope: scopeOf({ kind: 'all' }, principal),
      client: { info: { name: 'rest', version: '1' }, capabilities: {} },
    } as const;
    const request = { method: 'tools/call', peer, cancel, trace, notify: () => undefined };
    try {
      return toObject(await deps.methods.handle(request, 'tools/call', { name, arguments: args }));
    } catch (error) {
      throw toValidationError(error) ?? error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  return { has: (name) => deps.gatewayTools.find(name) !== undefined, call };
}

/** MCP clients get the field and the reason as data, REST clients as a problem of their body. */
function toValidationError(error: unknown): ValidationError | undefined {
  if (!(error instanceof ProtocolError) || error.code !== rpcCodes.invalidParams) return undefined;
  const { field, reason } = isObject(error.data) ? error.data : {};
  if (typeof field !== 'string') return undefined;
  return new ValidationError([
    {
      loc: ['body', 'arguments', field],
      msg: typeof reason === 'string' ? reason : error.message,
      type: 'value_error',
    },
  ]);
}
