import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApp } from '../support/app.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';
import { type Answer, type Received, startLoopback } from './loopback.ts';

interface Stored {
  id: number;
  vector: number[];
  payload: Record<string, unknown>;
}

/** As much of Qdrant as the aggregator uses, with an exact search. */
function createCollection() {
  const points = new Map<number, Stored>();
  let size: number | undefined;
  let down = false;

  function answer({ method, path, body }: Received): Answer {
    if (down) return { status: 503 };
    if (method === 'GET') {
      if (path === '/collections') return { body: { result: { collections: [] } } };
      if (size === undefined) return { status: 404 };
      return { body: { result: { config: { params: { vectors: { size } } } } } };
    }
    const input = body as {
      vectors?: { size: number };
      points?: unknown[];
      query?: number[];
      filter?: { must: Match[] };
    };
    if (input.vectors !== undefined) size = input.vectors.size;
    if (path.includes('/points?')) for (const point of input.points as Stored[]) points.set(point.id, point);
    if (path.includes('/points/delete')) for (const id of input.points as number[]) points.delete(id);
    if (path.includes('/points/query')) {
      const found = [...points.values()].filter(({ payload }) =>
        input.filter?.must.every((match) => fits(match, payload)),
      );
      const scored = found.map(({ id, vector }) => ({ id, score: dot(vector, input.query ?? []) }));
      return { body: { result: { points: scored.sort((a, b) => b.score - a.score).slice(0, 200) } } };
    }
    return { body: { result: true } };
  }

  return {
    answer,
    points,
    set down(value: boolean) {
      down = value;
    },
  };
}

interface Match {
  key: string;
  match: { any?: unknown[]; value?: unknown };
}

const fits = ({ key, match }: Match, payload: Record<string, unknown>) =>
  match.any === undefined ? payload[key] === match.value : match.any.includes(payload[key]);
const dot = (a: number[], b: number[]) => a.reduce((sum, value, d) => sum + value * (b[d] ?? 0), 0);

test('BR-003: with QDRANT_URL tools are indexed in Qdrant, found through it, and still found without it', async (context) => {
  const collection = createCollection();
  const qdrant = await startLoopback(context, collection.answer);
  const upstream = await startFeatureServer({ transport: 'streamable-modern' });
  const app = await startApp({ QDRANT_URL: qdrant.url });
  context.after(async () => {
    await app.close();
    await upstream.close();
  });
  await app.add('features', { base_url: upstream.url });
  const { body: listed } = await app.api('GET', '/api/v1/aggregator/servers/features/tools');
  await until(() => collection.points.size === listed.total);
  const [first] = collection.points.values();
  assert.equal(first?.payload.source_server_name, 'features');
  assert.equal(first?.payload.is_external, true);

  // Tools that are given their skills are sent again; until they are there Qdrant is not asked.
  await until(async () => (await app.api('GET', '/api/v1/aggregator/state')).body.classifying_tools === 0);

  const search = async () => (await app.api('POST', '/api/v1/search', { query: 'add two numbers' })).body;
  const asked = () => qdrant.received.filter(({ path }) => path.endsWith('/points/query')).length;
  await until(async () => {
    await search();
    return asked() > 0;
  });
  const through = await search();
  assert.equal(through.tools[0].name, 'features.add');
  assert.equal(through.metadata.warnings, undefined);
  assert.equal((await app.api('GET', '/api/v1/aggregator/health')).body.checks.qdrant, 'ok');

  collection.down = true;
  const without = await search();
  assert.equal(without.tools[0].name, 'features.add');
  assert.match(without.metadata.warnings[0], /built-in index used/);
  const health = (await app.api('GET', '/api/v1/aggregator/health')).body;
  assert.equal(health.status, 'degraded');
  assert.equal(health.checks.qdrant, 'failed');
});

test('BR-008: what is removed leaves Qdrant', async (context) => {
  const collection = createCollection();
  const qdrant = await startLoopback(context, collection.answer);
  const upstream = await startFeatureServer({ transport: 'streamable-modern' });
  const app = await startApp({ QDRANT_URL: qdrant.url });
  context.after(async () => {
    await app.close();
    await upstream.close();
  });
  await app.add('features', { base_url: upstream.url });
  await until(() => collection.points.size > 0);
  await app.api('DELETE', '/api/v1/aggregator/servers/features');
  await until(() => collection.points.size === 0);
});
