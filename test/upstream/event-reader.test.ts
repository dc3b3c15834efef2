import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createParser } from 'eventsource-parser';
import { createEventReader } from '../../src/upstream/event-reader.ts';
import { createRandom, pick } from '../mcp/random-json.ts';

interface Read {
  events: { id?: string; event?: string; data: string }[];
  retries: number[];
}

function readBytes(chunks: readonly Buffer[]): Read {
  const read: Read = { events: [], retries: [] };
  const reader = createEventReader({
    onEvent: ({ id, event, data }) => read.events.push({ id, event, data: Buffer.concat(data).toString('utf8') }),
    onRetry: (ms) => read.retries.push(ms),
  });
  for (const chunk of chunks) reader.read(chunk);
  return read;
}

function readText(text: string): Read {
  const read: Read = { events: [], retries: [] };
  const parser = createParser({
    onEvent: ({ id, event, data }) => read.events.push({ id, event, data }),
    onRetry: (ms) => read.retries.push(ms),
  });
  parser.feed(text);
  return read;
}

const lines = [
  ...['data: {"a":1}', 'data:no space', 'data:  two', 'data', 'data:', 'datax: 1', 'data: é\u2028ü', 'dat'],
  ...['id: 7', 'id:', 'id: a\0b', 'event: message', 'event:', 'event', 'retry: 250', 'retry: soon', 'retry:'],
  ...[': comment', ':', 'unknown: field', ' data: 1', '', '', ''],
];

test('events in every spelling and every cut are those that eventsource-parser reads', () => {
  const random = createRandom(3);
  let events = 0;
  for (let round = 0; round < 3_000; round += 1) {
    const ending = pick(random, ['\n', '\r\n', '\r']);
    const count = Math.floor(random() * 12);
    const text = `${Array.from({ length: count }, () => pick(random, lines)).join(ending)}${ending}data: last${ending}${ending}`;
    const bytes = Buffer.from(text);
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + Math.floor(random() * (round % 3 === 0 ? 3 : 40));
      chunks.push(bytes.subarray(at, at + size));
      at += size;
    }
    const read = readBytes(chunks);
    // It waits for the line feed that may follow a carriage return at the very end.
    assert.deepEqual(read, readText(`${text}${ending === '\r' ? ':' : ''}`), JSON.stringify(text));
    events += read.events.length;
  }
  assert.ok(events > 3_000, `${events} events`);
});

test('a byte order mark before the first line is none of its text', () => {
  const [event] = readBytes([Buffer.from([0xef]), Buffer.from([0xbb, 0xbf]), Buffer.from('data: 1\n\n')]).events;
  assert.equal(event?.data, '1');
});

test('a large event is not copied, and counts until it is complete', () => {
  const chunk = Buffer.alloc(65_536, 'x');
  const received: (readonly Buffer[])[] = [];
  const sizes: number[] = [];
  const reader = createEventReader({
    onEvent({ data, bytes }) {
      received.push(data);
      sizes.push(bytes);
    },
  });
  reader.read(Buffer.from('data: '));
  for (let count = 0; count < 10; count += 1) reader.read(chunk);
  assert.equal(reader.pendingBytes, 10 * chunk.length + 6);
  reader.read(Buffer.from('\n\n'));
  assert.equal(reader.pendingBytes, 0);
  assert.equal(sizes[0], 10 * chunk.length + 8);
  const [data = []] = received;
  assert.equal(Buffer.concat(data).toString(), 'x'.repeat(10 * chunk.length));
  assert.ok(data.filter((part) => part.buffer === chunk.buffer).length >= 9);
});
