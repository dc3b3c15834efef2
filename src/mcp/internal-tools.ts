/** Our own tools for callers without an MCP client: `POST /api/v1/tools/call`. */
import { ValidationError } from '../errors.ts';
import { isObject, type JsonObject, modernVersions, rpcCodes } from '../json-rpc.ts';
import { toObject } from '../raw-result.ts';
import type { Call } from '../routing/call.ts';
import { ProtocolError } from './adapt-result.ts';
import type { GatewayTools } from './gateway-tools.ts';
import type { Methods } from './methods.ts';
import { createScopes, type ScopeDependencies } from './scope.ts';

export interface InternalTools {
  has(name: string): boolean;
  /** A `tools/call` that names one. */
  call(call: Call): Promise<JsonObject>;
}

interface InternalToolDependencies extends ScopeDependencies {
  methods: Methods;
  gatewayTools: GatewayTools;
}

export function createInternalTools(deps: InternalToolDependencies): InternalTools {
  const scopeOf = createScopes(deps);

  async function call(given: Call): Promise<JsonObject> {
    const { principal, address } = given.caller;
    const caller = {
      ...given.caller,
      era: 'modern',
      protocolVersion: modernVersions[0],
      address: address ?? '',
      scope: scopeOf({ kind: 'all' }, principal),
      client: { info: { name: 'rest', version: '1' }, capabilities: {} },
    } as const;
    try {
      return toObject(await deps.methods.handle({ ...given, caller, notify: () => undefined }));
    } catch (error) {
      throw toValidationError(error) ?? error;
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
