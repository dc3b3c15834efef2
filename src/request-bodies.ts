/** Reads request bodies within a budget for all of them together, because a body is held until its request is answered. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError, ValidationError } from './errors.ts';

export interface RequestBodies {
  /** `maxBytes`: where less than usual is allowed. */
  read(request: IncomingMessage, response: ServerResponse, maxBytes?: number): Promise<Buffer>;
  /** Of requests that are not answered yet. */
  readonly heldBytes: number;
  readonly maxHeldBytes: number;
  readonly refused: number;
}

interface RequestBodyOptions {
  maxBodyBytes: number;
  maxBodiesBytes: number;
}

/** Ordinary calls are answered also when large bodies have used up the budget; the number of connections is limited. */
const freeBytes = 16_384;
const retryAfterSeconds = 5;

export function createRequestBodies({ maxBodyBytes, maxBodiesBytes }: RequestBodyOptions): RequestBodies {
  const maxHeldBytes = Math.max(maxBodiesBytes, maxBodyBytes);
  let heldBytes = 0;
  let refused = 0;

  /** Counts what is beyond the free bytes until the response is closed. */
  function createHold(response: ServerResponse): (bytes: number) => void {
    let held = 0;
    return (bytes) => {
      if (heldBytes + bytes > maxHeldBytes) {
        refused += 1;
        throw new AppError('OVERLOADED', 'Too many large requests are in progress; try again later', {
          retryAfterSeconds,
        });
      }
      if (held === 0)
        response.once('close', () => {
          heldBytes -= held;
        });
      held += bytes;
      heldBytes += bytes;
    };
  }

  return {
    read(request, response, maxBytes = maxBodyBytes) {
      return new Promise((resolve, reject) => {
        const parts: Buffer[] = [];
        let length = 0;
        let hold: ((bytes: number) => void) | undefined;

        function take(part: Buffer): void {
          length += part.length;
          if (length > maxBytes) throw tooLarge(maxBytes);
          if (length > freeBytes) {
            hold ??= createHold(response);
            hold(part.length);
          }
          parts.push(part);
        }

        if (Number(request.headers['content-length']) > maxBytes) {
          request.resume();
          return reject(tooLarge(maxBytes));
        }
        request.on('data', (part: Buffer) => {
          try {
            take(part);
          } catch (error) {
            parts.length = 0;
            request.removeAllListeners('data').resume();
            reject(error);
          }
        });
        request.on('end', () => {
          const [only] = parts;
          resolve(parts.length === 1 && only !== undefined ? only : Buffer.concat(parts));
        });
        request.on('error', () => reject(endedEarly()));
      });
    },
    get heldBytes() {
      return heldBytes;
    },
    maxHeldBytes,
    get refused() {
      return refused;
    },
  };
}

const tooLarge = (maxBytes: number) => new AppError('BODY_TOO_LARGE', `The body is larger than ${maxBytes} bytes`);

const endedEarly = () => new ValidationError([{ loc: ['body'], msg: 'ended early', type: 'value_error' }]);
