/** What a server asks over one connection: so much at once, and until it says that it no longer wants to know. */
import { RpcError } from '../errors.ts';
import { type JsonObject, keyOf, type RpcMessage, type RpcRequest, rpcCodes } from '../json-rpc.ts';

interface Questions {
  answer(message: RpcRequest, handle: (params: JsonObject, signal: AbortSignal) => Promise<JsonObject>): Promise<void>;
  /** The server gets no answer. */
  withdraw(id: unknown): void;
  withdrawAll(): void;
}

const maxAtOnce = 1_000;

export function createQuestions(send: (reply: RpcMessage) => void | Promise<void>): Questions {
  const open = new Map<unknown, AbortController>();

  function withdraw(id: unknown): void {
    const question = open.get(keyOf(id));
    open.delete(keyOf(id));
    question?.abort();
  }

  return {
    async answer(message, handle) {
      const { id, method, params = {} } = message;
      if (method !== 'ping' && open.size >= maxAtOnce) {
        const error = { code: rpcCodes.internalError, message: `Too many unanswered requests (limit: ${maxAtOnce})` };
        return await reply({ jsonrpc: '2.0', id, error });
      }
      const question = new AbortController();
      open.set(keyOf(id), question);
      const answer = await answerTo(message, () => handle(params, question.signal));
      if (open.get(keyOf(id)) !== question) return;
      open.delete(keyOf(id));
      await reply(answer);
    },
    withdraw,
    withdrawAll() {
      for (const id of [...open.keys()]) withdraw(id);
    },
  };

  async function reply(answer: RpcMessage): Promise<void> {
    try {
      await send(answer);
    } catch {
      // The connection reports its own end.
    }
  }
}

/** Whatever becomes of a request is its answer. */
async function answerTo(message: RpcRequest, handle: () => Promise<JsonObject>): Promise<RpcMessage> {
  if (message.method === 'ping') return { jsonrpc: '2.0', id: message.id, result: {} };
  try {
    return { jsonrpc: '2.0', id: message.id, result: await handle() };
  } catch (error) {
    const failure =
      error instanceof RpcError
        ? { code: error.code, message: error.message, ...(error.data === undefined ? {} : { data: error.data }) }
        : { code: rpcCodes.internalError, message: 'the client could not answer' };
    return { jsonrpc: '2.0', id: message.id, error: failure };
  }
}
