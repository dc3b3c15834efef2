/** The aggregator query among our own tools. */
import { toAbortSignal } from '../cancellation.ts';
import { isObject, type JsonObject, rpcCodes } from '../json-rpc.ts';
import { contextTool } from '../query/context-tool.ts';
import type { Asking, QueryRunner } from '../query/query-runner.ts';
import { queryTool } from '../query/query-tool.ts';
import { AllServersFailedError, QueryInputError } from '../query/request.ts';
import { ProtocolError } from './adapt-result.ts';
import { createClientSampling, SamplingRequired } from './client-sampling.ts';
import { type GatewayTool, textResult } from './gateway-tools.ts';
import type { McpCall } from './peer.ts';

export function queryTools(queryRunner: QueryRunner): GatewayTool[] {
  const { collect } = queryRunner;
  const tools: GatewayTool[] = [
    {
      definition: queryTool,
      listed: wherever,
      // A model reads the answer: what it does not need costs context.
      call: (call) => answer(() => queryRunner.ask({ compact: true, ...argumentsOf(call) }, toAsking(call))),
    },
  ];
  if (collect === undefined) return tools;
  return [
    ...tools,
    {
      definition: contextTool,
      listed: wherever,
      call: (call) => answer(() => collect(argumentsOf(call), toAsking(call))),
    },
  ];
}

/** What `queryTools` offers, with or without a model. */
export const queryToolDefinitions = (hasModel: boolean) => [queryTool, ...(hasModel ? [contextTool] : [])];

/** A profile that lists its tools offers just these. */
const wherever: GatewayTool['listed'] = (scope) => scope.profile === undefined || scope.searchOnly();

const argumentsOf = ({ params: { arguments: args } }: McpCall) => (isObject(args) ? args : {});

function toAsking(call: McpCall): Asking {
  const { caller, requestId, trace, headers, signal } = call;
  return {
    // The query chose the tools, not a search of the client.
    caller: { ...caller, searcher: undefined },
    requestId,
    trace,
    headers,
    view: caller.scope.view,
    signal: toAbortSignal(signal),
    sampling: createClientSampling(call),
  };
}

/** fix the shapes of both errors. */
async function answer(run: () => Promise<object>): Promise<JsonObject> {
  try {
    const output = await run();
    return textResult(JSON.stringify(output), { ...output });
  } catch (error) {
    if (error instanceof SamplingRequired) return { resultType: 'input_required', inputRequests: error.inputRequests };
    if (error instanceof QueryInputError)
      throw new ProtocolError(rpcCodes.invalidParams, error.message, { data: error.data });
    if (error instanceof AllServersFailedError)
      throw new ProtocolError(rpcCodes.internalError, error.message, { data: error.data });
    throw error;
  }
}
