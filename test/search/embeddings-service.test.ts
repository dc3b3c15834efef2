import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEmbeddingsService, EmbeddingsUnavailable } from '../../src/search/embeddings-service.ts';
import { type Received, startLoopback } from './loopback.ts';

const inputOf = ({ body }: Received) => (body as { input: string[] }).input;
const vectorsFor = (received: Received) => ({
  body: {
    // Out of order on purpose: `index` is the promise, not the position.
    data: inputOf(received)
      .map((text, index) => ({ index, embedding: [text.length, 1, 0] }))
      .reverse(),
  },
});

test('embeddings service: batches, authorises, orders by index and normalises', async (context) => {
  const { url, received } = await startLoopback(context, vectorsFor);
  const service = await createEmbeddingsService({ url: `${url}/v1/`, model: 'm', apiKey: 'k', batchSize: 2 });
  assert.equal(service.dimensions, 3);
  assert.match(service.identity, /^m@127\.0\.0\.1:\d+:3$/);
  const vectors = await service.embed(['a', 'bbb', '']);
  assert.deepEqual(received.slice(1).map(inputOf), [['a', 'bbb'], [' ']]);
  assert.equal(received[0]?.path, '/v1/embeddings');
  assert.equal(received[0]?.headers.authorization, 'Bearer k');
  assert.ok(Math.abs((vectors[1]?.[0] ?? 0) - 3 / Math.sqrt(10)) < 1e-6);
});

test('embeddings service: retries an overload and gives up on a refusal', async (context) => {
  const { url, received } = await startLoopback(context, (entry, count) =>
    count === 2 ? { status: 503 } : count === 4 ? { status: 401 } : vectorsFor(entry),
  );
  const service = await createEmbeddingsService({ url, model: 'm', retryDelaysMs: [1] });
  await service.embed(['a']);
  assert.equal(received.length, 3);
  await assert.rejects(service.embed(['a']), (thrown: EmbeddingsUnavailable) => !thrown.retryable);
  assert.equal(received.length, 4);
});

test('embeddings service: slow, missing and malformed answers are named failures', async (context) => {
  const answers: Record<string, (entry: Received) => object> = {
    slow: () => ({ hang: true }),
    short: () => ({ body: { data: [{ index: 0, embedding: [1, 0, 0] }] } }),
    text: () => ({ body: 'hello' }),
    narrow: (entry) => ({ body: { data: inputOf(entry).map((_, index) => ({ index, embedding: [1] })) } }),
  };
  const { url } = await startLoopback(context, (entry) => (answers[inputOf(entry)[0] ?? ''] ?? vectorsFor)(entry));
  const service = await createEmbeddingsService({ url, model: 'm', timeoutMs: 200, retryDelaysMs: [] });
  for (const name of Object.keys(answers)) {
    await assert.rejects(service.embed([name, 'other']), EmbeddingsUnavailable, name);
  }
  await assert.rejects(
    createEmbeddingsService({ url: 'http://127.0.0.1:1', model: 'm', retryDelaysMs: [] }),
    EmbeddingsUnavailable,
  );
  assert.equal((await service.embed(['back'])).length, 1);
});

test('embeddings service: the caller can stop it', async (context) => {
  const { url } = await startLoopback(context, (entry, count) => (count === 1 ? vectorsFor(entry) : { hang: true }));
  const service = await createEmbeddingsService({ url, model: 'm' });
  await assert.rejects(service.embed(['a'], AbortSignal.timeout(20)), { name: 'TimeoutError' });
});
