/**
 * A legacy client's call. Servers of its own era ask by requests, which go to the stream of the call; one of the modern
 * era answers `input_required`, so the client is asked in its stead and the call is sent again with the answers.
 */
import { randomUUID } from 'node:crypto';
import { toAbortSignal } from '../cancellation.ts';
import { RpcError } from '../errors.ts';
import { isObject, type JsonObject, rpcCodes } from '../json-rpc.ts';
import { memberOf, type Result, toObject } from '../raw-result.ts';
import { nameServer } from './client-questions.ts';
import type { ServerCall } from './peer.ts';

const maxRounds = 20;

export async function sendForLegacyClient(
  given: ServerCall,
  send: (call: ServerCall) => Promise<Result>,
): Promise<Result> {
  const call = namingServer(given);
  let answer = await send(call);
  for (let round = 0; memberOf(answer, 'resultType') === 'input_required'; round += 1) {
    if (call.ask === undefined || round === maxRounds)
      throw new RpcError(rpcCodes.internalError, 'Too many input requests from the server');
    const { inputRequests, requestState } = toObject(answer);
    const inputResponses = await askAll(call, call.ask, inputRequests);
    const state = requestState === undefined ? {} : { requestState };
    answer = await send({ ...call, params: { ...call.params, inputResponses, ...state } });
  }
  return answer;
}

/** The client sees which server asks. */
function namingServer(call: ServerCall): ServerCall {
  const { ask } = call;
  if (ask === undefined) return call;
  return { ...call, ask: (method, question, signal) => ask(method, nameServer(method, question, call), signal) };
}

async function askAll(
  call: ServerCall,
  ask: NonNullable<ServerCall['ask']>,
  inputRequests: unknown,
): Promise<JsonObject> {
  const answers: JsonObject = {};
  for (const [key, request] of Object.entries(isObject(inputRequests) ? inputRequests : {})) {
    if (!isObject(request)) continue;
    const question = isObject(request.params) ? request.params : {};
    answers[key] = await ask(String(request.method), withElicitationId(question), toAbortSignal(call.signal));
  }
  return answers;
}

/** 2025-11-25 identifies an elicitation by URL with an id that the new era no longer has. */
function withElicitationId(params: JsonObject): JsonObject {
  return params.mode === 'url' && params.elicitationId === undefined
    ? { ...params, elicitationId: randomUUID() }
    : params;
}
