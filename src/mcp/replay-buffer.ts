/** The newest events of a session, for a client that was cut off and comes back for what it missed. */

interface ReplayBuffer {
  /** Keeps an event; its id, which says the stream that it belongs to. */
  record(stream: number, text: string): string;
  /** What a stream said after an event, by the id that the client saw last. */
  since(lastEventId: string): { stream: number; events: { id: string; text: string }[] };
}

interface RecordedEvent {
  stream: number;
  number: number;
  text: string;
}

const keptEvents = 500;
const keptCharacters = 1_048_576;
/** One that is longer than all may be is kept for as long as a client that was cut off takes to come back. */
const longKeptMs = 60_000;

export function createReplayBuffer(): ReplayBuffer {
  const recorded: RecordedEvent[] = [];
  let characters = 0;
  let last = 0;

  function forget(event: RecordedEvent | undefined): void {
    const at = event === undefined ? -1 : recorded.indexOf(event);
    if (at === -1) return;
    characters -= recorded.splice(at, 1)[0]?.text.length ?? 0;
  }

  return {
    record(stream, text) {
      last += 1;
      const event = { stream, number: last, text };
      recorded.push(event);
      characters += text.length;
      while (recorded.length > 1 && (recorded.length > keptEvents || characters > keptCharacters)) forget(recorded[0]);
      if (text.length > keptCharacters) setTimeout(forget, longKeptMs, event).unref();
      return `${stream}-${last}`;
    },
    since(lastEventId) {
      const [from = '', after = ''] = lastEventId.split('-');
      const stream = Number(from);
      const events = recorded
        .filter((event) => event.stream === stream && event.number > Number(after))
        .map(({ number, text }) => ({ id: `${stream}-${number}`, text }));
      return { stream, events };
    },
  };
}
