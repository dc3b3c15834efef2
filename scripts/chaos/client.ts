/** Requests over a bounded number of kept connections, so that handles show the aggregator and not its clients. */
import { Agent, request as requestHttp } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Received {
  status: number;
  contentType: string;
  text: string;
}

export interface Sending {
  method: string;
  headers: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
}

export type Client = (path: string, sending: Sending) => Promise<Received>;

const connections = 32;

export function createClient(url: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });

  function send(path: string, { method, headers, body, signal }: Sending, again = false): Promise<Received> {
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const sent = requestHttp(
        new URL(path, url),
        { method, headers: { ...headers, ...length }, signal, agent },
        (answer) => {
          text(answer).then(
            (received) =>
              resolve({
                status: answer.statusCode ?? 0,
                contentType: answer.headers['content-type'] ?? '',
                text: received,
              }),
            reject,
          );
        },
      );
      sent.on('error', (error: NodeJS.ErrnoException) => {
        // A kept connection that the other side closed as we began: nothing was read of the request.
        const wasStale = sent.reusedSocket && error.code === 'ECONNRESET' && !again;
        if (wasStale) send(path, { method, headers, body, signal }, true).then(resolve, reject);
        else reject(error);
      });
      sent.end(body);
    });
  }

  return (path, sending) => send(path, sending);
}
