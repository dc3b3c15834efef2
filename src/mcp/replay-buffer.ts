/** The newest events of a session, for a client that was cut off and comes back for what it missed. */
import type { RequestId } from '../json-rpc.ts';

interface ReplayBuffer {
  /** Names the request that a stream answers: a client that comes back after a restart can then be told of its loss. */
  name(stream: number, requestId: RequestId): void;
  /** The id of the event with this number, which says the stream and the request that it belongs to. */
  eventId(stream: number, number: number): string;
  /** Keeps an event; its id. */
  record(stream: number, text: string): string;
  /** What a stream said after an event, by the id that the client saw last. */
  since(lastEventId: string): { stream: number; requestId?: RequestId; events: { id: string; text: string }[] };
}

interface RecordedEvent {
  stream: number;
  number: number;
  text: string;
}

const keptEvents = 500;
const maxNameLength = 200;
const keptCharacters = 1_048_576;
/** One that is longer than all may be is kept for as long as a client that was cut off takes to come back. */
const longKeptMs = 60_000;

export function createReplayBuffer(): ReplayBuffer {
  const recorded: RecordedEvent[] = [];
  const names = new Map<number, string>();
  let characters = 0;
  let last = 0;

  function forget(event: RecordedEvent | undefined): void {
    const at = event === undefined ? -1 : recorded.indexOf(event);
    if (at === -1) return;
    characters -= recorded.splice(at, 1)[0]?.text.length ?? 0;
  }

  function eventId(stream: number, number: number): string {
    const name = names.get(stream);
    return name === undefined ? `${stream}-${number}` : `${stream}-${number}-${name}`;
  }

  return {
    name(stream, requestId) {
      const name = Buffer.from(JSON.stringify(requestId)).toString('hex');
      if (name.length > maxNameLength) return;
      names.set(stream, name);
      const [oldest] = names.keys();
      if (names.size > keptEvents && oldest !== undefined) names.delete(oldest);
    },
    eventId,
    record(stream, text) {
      last += 1;
      const event = { stream, number: last, text };
      recorded.push(event);
      characters += text.length;
      while (recorded.length > 1 && (recorded.length > keptEvents || characters > keptCharacters)) forget(recorded[0]);
      if (text.length > keptCharacters) setTimeout(forget, longKeptMs, event).unref();
      return eventId(stream, last);
    },
    since(lastEventId) {
      const [from = '', after = '', name] = lastEventId.split('-');
      const stream = Number(from);
      const events = recorded
        .filter((event) => event.stream === stream && event.number > Number(after))
        .map(({ number, text }) => ({ id: eventId(stream, number), text }));
      return { stream, requestId: requestIdOf(name), events };
    },
  };
}

function requestIdOf(name: string | undefined): RequestId | undefined {
  if (name === undefined) return undefined;
  try {
    return JSON.parse(Buffer.from(name, 'hex').toString('utf8'));
  } catch {
    return undefined; // not an id that we wrote
  }
}
