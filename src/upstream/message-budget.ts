/** What servers sent and is no complete message yet: limited for each message, and for all of them together. */
import { MessageTooLarge } from './session.ts';

export interface MessageBudget {
  /** Of one message. */
  readonly maxBytes: number;
  /** For one message after the other. */
  open(): MessageHold;
}

export interface MessageHold {
  /** So much of the message has come; throws where that is too much. */
  set(bytes: number): void;
  release(): void;
}

interface MessageLimits {
  maxMessageBytes: number;
  maxMessagesBytes: number;
}

/** Ordinary messages are not counted. */
const freeBytes = 65_536;

export function createMessageBudget({ maxMessageBytes, maxMessagesBytes }: MessageLimits): MessageBudget {
  const maxHeld = Math.max(maxMessagesBytes, maxMessageBytes);
  let heldByAll = 0;
  return {
    maxBytes: maxMessageBytes,
    open() {
      let held = 0;
      function hold(bytes: number): void {
        heldByAll += bytes - held;
        held = bytes;
      }
      return {
        set(bytes) {
          if (bytes > maxMessageBytes) throw new MessageTooLarge(maxMessageBytes);
          const counted = bytes > freeBytes ? bytes : 0;
          if (counted > held && heldByAll - held + counted > maxHeld) throw new MessageTooLarge(maxHeld, together);
          hold(counted);
        },
        release: () => hold(0),
      };
    },
  };
}

const together = 'together with those of other servers (MCP_AGGREGATOR_MAX_MESSAGES_BYTES)';
