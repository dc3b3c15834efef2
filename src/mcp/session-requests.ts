/** The requests of a legacy client that are being answered. Their calls can ask the client, and can be cancelled by it. */
import { Cancellation } from '../cancellation.ts';
import { createInFlightTable } from '../in-flight-table.ts';
import { type JsonObject, keyOf, type RequestId, type RpcMessage, type RpcRequest } from '../json-rpc.ts';
import type { Result } from '../raw-result.ts';
import type { RequestContext } from '../request-context.ts';
import { traceOfMessage } from '../tracing.ts';
import { adaptResult, toFailure } from './adapt-result.ts';
import type { LegacyPeer } from './legacy-peer.ts';
import type { McpCall } from './peer.ts';
import type { SessionNotices } from './session-notices.ts';
import type { SessionQuestions } from './session-questions.ts';
import type { Outlet, ReplyOutlet } from './session-streams.ts';

interface SessionRequestOptions {
  peer: LegacyPeer;
  notices: SessionNotices;
  questions: SessionQuestions;
  handle: (call: McpCall) => Promise<Result> | Result;
  /** Calls wait for it: what they change may be just what the client followed before. */
  restoring: () => Promise<unknown> | undefined;
  ourInfo: JsonObject;
  onFailure: (error: unknown, method: string) => void;
  onAnswered: () => void;
}

interface SessionRequests {
  readonly size: number;
  /** Never rejects: a failure is the answer. Its notifications, and questions to the client, go out at the outlet. */
  answer(request: RpcRequest, outlet: Outlet, context: RequestContext): Promise<RpcMessage>;
  /** A batch answers all requests together. */
  answerAll(requests: readonly RpcRequest[], outlet: ReplyOutlet, context: RequestContext, isBatch: boolean): void;
  cancel(requestId: unknown): void;
  cancelAll(reason: DOMException): void;
}

export function createSessionRequests(options: SessionRequestOptions): SessionRequests {
  const { peer, notices, questions } = options;
  const running = createInFlightTable<{ requestId: RequestId; cancel: Cancellation }>();

  function toCall(
    { method, params = {} }: RpcRequest,
    outlet: Outlet,
    cancel: Cancellation,
    { requestId, receivedAt, trace }: RequestContext,
  ): McpCall {
    return {
      method,
      params,
      caller: peer.refresh(),
      signal: cancel,
      requestId,
      receivedAt,
      trace: traceOfMessage(params, trace),
      notify: (notice, noticeParams) => notices.send(outlet, notice, noticeParams),
      ask: (asked, question, signal) =>
        questions.duringCall({ send: outlet.send, call: cancel }, asked, question, signal),
      pause: outlet.pause,
    };
  }

  async function answer(request: RpcRequest, outlet: Outlet, context: RequestContext): Promise<RpcMessage> {
    const { id, method } = request;
    const cancel = new Cancellation();
    const place = running.add({ requestId: id, cancel });
    try {
      const restoring = options.restoring();
      if (restoring !== undefined) await restoring;
      const result = await options.handle(toCall(request, outlet, cancel, context));
      return { jsonrpc: '2.0', id, result: adaptResult(peer.current, method, result, options.ourInfo) };
    } catch (error) {
      options.onFailure(error, method);
      return toFailure(id, error, 'legacy');
    } finally {
      running.remove(place);
      if (cancel.aborted) questions.withdraw(cancel);
      options.onAnswered();
    }
  }

  return {
    get size() {
      return running.size;
    },

    answer,

    answerAll(requests, outlet, context, isBatch) {
      const answers = requests.map((request) => answer(request, outlet, context));
      const [first] = answers;
      void (isBatch || first === undefined ? Promise.all(answers).then(outlet.finish) : first.then(outlet.finish));
    },

    cancel(requestId) {
      const reason = new DOMException('cancelled by the client', 'AbortError');
      for (const call of running) if (keyOf(call.requestId) === keyOf(requestId)) call.cancel.abort(reason);
    },

    cancelAll(reason) {
      for (const call of running) call.cancel.abort(reason);
    },
  };
}
