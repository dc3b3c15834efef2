/** The HTTP+SSE transport of 2024-11-05: one event stream in, a POST for every message out. */
import { isResponse, type RpcMessage } from '../json-rpc.ts';
import { joinParts } from './lines.ts';
import { type Channel, type ChannelHandlers, ConnectionLost } from './session.ts';
import { hasMessages, readEventData, readEvents, refuseDenied, toConnectionLost, type Wire } from './wire.ts';

interface SseOptions {
  wire: Wire;
  signal: AbortSignal;
}

/** Resolves when the server has named the address for messages. */
export async function openSse(options: SseOptions): Promise<(handlers: ChannelHandlers) => Channel> {
  const { wire } = options;
  // The attempt's own signal ends with the attempt; the stream goes on after it.
  const ended = new AbortController();
  const onAbort = () => ended.abort(options.signal.reason);
  options.signal.addEventListener('abort', onAbort, { once: true });
  const answer = await wire.send('GET', { headers: { accept: 'text/event-stream' }, signal: ended.signal });
  refuseDenied(answer);
  if (answer.status !== 200 || answer.events === undefined) {
    answer.events?.destroy();
    throw new ConnectionLost(`${wire.url.host} answered HTTP ${answer.status} instead of an event stream`, 'no');
  }

  const endpoint = Promise.withResolvers<string>();
  let handlers: ChannelHandlers | undefined;
  const deliver = (messages: RpcMessage[]): void => {
    for (const message of messages) handlers?.onMessage(message);
  };
  const finished = readEvents(answer.events, wire, {
    onEvent(event) {
      if (event.event === 'endpoint') {
        endpoint.resolve(joinParts(event.data).toString('utf8'));
        return false;
      }
      if (!hasMessages(event)) return false;
      const messages = readEventData(event.data);
      if (messages instanceof Promise) return messages.then(deliver);
      deliver(messages);
      return messages.every(isResponse);
    },
  }).then(
    () => new ConnectionLost('the server ended its event stream', 'maybe'),
    (error: unknown) => (error instanceof ConnectionLost ? error : toConnectionLost(error, wire.url)),
  );
  void finished.then((error) => {
    endpoint.reject(error);
    handlers?.onClose(error);
  });

  const path = sameOriginPath(await endpoint.promise, wire.url);
  options.signal.removeEventListener('abort', onAbort);

  return (given) => {
    handlers = given;
    return {
      async send(message) {
        const body = JSON.stringify(message);
        const posted = await wire.send('POST', { path, body, headers: { 'content-type': 'application/json' } });
        refuseDenied(posted);
        if (posted.status >= 300)
          throw new ConnectionLost(`the server refused a message with HTTP ${posted.status}`, 'no');
      },
      async close() {
        ended.abort();
        await wire.close();
      },
    };
  };
}

/** The server names the address itself; another origin would receive our credentials. */
function sameOriginPath(endpoint: string, base: URL): string {
  const target = new URL(endpoint, base);
  if (target.origin !== base.origin) {
    throw new ConnectionLost(`the server's message endpoint is on another host: ${target.host}`, 'no');
  }
  return `${target.pathname}${target.search}`;
}
