/** The aggregator query among our own tools (contract 000). */
import { isObject, rpcCodes } from '../json-rpc.ts';
import type { Asker, Asking } from '../query/asker.ts';
import { contextTool } from '../query/context-agent.ts';
import { queryTool } from '../query/query-tool.ts';
import { AllServersFailedError, QueryInputError } from '../query/request.ts';
import { callerOf } from './bridge.ts';
import { OwnError } from './dress.ts';
import { type GatewayTool, textResult } from './gateway-tools.ts';
import type { Call } from './peer.ts';

export function queryTools(asker: Asker): GatewayTool[] {
  const { collect } = asker;
  const tools: GatewayTool[] = [
    {
      definition: queryTool,
      listed: wherever,
      call: (call, params) => answer(() => asker.ask(argumentsOf(params), asking(call))),
    },
  ];
  if (collect === undefined) return tools;
  return [
    ...tools,
    {
      definition: contextTool,
      listed: wherever,
      call: (call, params) => answer(() => collect(argumentsOf(params), asking(call))),
    },
  ];
}

/** Who chose a selection of servers and tools gets just that. */
const wherever: GatewayTool['listed'] = (scope) => scope.profile === undefined || scope.searchOnly();

const argumentsOf = ({ arguments: args }: Record<string, unknown>) => (isObject(args) ? args : {});

function asking(call: Call): Asking {
  // Nobody can be asked in the middle of a query, so no server gets a session for asking; and the tools are our choice.
  return {
    caller: { ...callerOf(call), owner: undefined, chooser: undefined },
    view: call.peer.scope.view,
    signal: call.cancel.signal,
  };
}

/** Contract 000 fixes the shapes of both errors. */
async function answer(run: () => Promise<object>) {
  try {
    const output = await run();
    return textResult(JSON.stringify(output), { ...output });
  } catch (error) {
    if (error instanceof QueryInputError)
      throw new OwnError(rpcCodes.invalidParams, error.message, { data: error.data });
    if (error instanceof AllServersFailedError)
      throw new OwnError(rpcCodes.internalError, error.message, { data: error.data });
    throw error;
  }
}
