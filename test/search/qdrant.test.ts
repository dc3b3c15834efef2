import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { collectionName, createQdrant, type ToolPoint } from '../../src/search/qdrant.ts';
import { type Answer, type Received, startLoopback } from './loopback.ts';

const root = `/collections/${collectionName}`;
const condition = z.strictObject({
  key: z.string(),
  match: z.union([
    z.strictObject({ any: z.array(z.string()) }),
    z.strictObject({ value: z.union([z.string(), z.boolean()]) }),
  ]),
});
const filter = z.strictObject({ must: z.array(condition) });

// The shapes of Qdrant's REST reference for the calls we make.
const shapes: Record<string, z.ZodType> = {
  [`GET ${root}`]: z.undefined(),
  [`PUT ${root}`]: z.strictObject({
    vectors: z.strictObject({
      size: z.number().int().positive(),
      distance: z.enum(['Cosine', 'Dot', 'Euclid', 'Manhattan']),
    }),
  }),
  [`PUT ${root}/index?wait=true`]: z.strictObject({
    field_name: z.string(),
    field_schema: z.enum(['keyword', 'integer', 'float', 'bool', 'geo', 'datetime', 'text', 'uuid']),
  }),
  [`PUT ${root}/points?wait=true`]: z.strictObject({
    points: z.array(
      z.strictObject({
        id: z.number().int().min(0),
        vector: z.array(z.number()),
        payload: z.record(z.string(), z.unknown()),
      }),
    ),
  }),
  [`POST ${root}/points/payload?wait=true`]: z.strictObject({
    payload: z.record(z.string(), z.unknown()),
    points: z.array(z.number().int()),
  }),
  [`POST ${root}/points/delete?wait=true`]: z.union([
    z.strictObject({ points: z.array(z.number().int()) }),
    z.strictObject({ filter }),
  ]),
  [`POST ${root}/points/query`]: z.strictObject({
    query: z.array(z.number()),
    limit: z.number().int().positive(),
    filter,
    with_payload: z.boolean(),
  }),
};

function point(id: number, server: string, vector: number[]): ToolPoint {
  return {
    id,
    vector: Float32Array.from(vector),
    payload: {
      type: 'tool',
      db_id: id,
      name: `${server}.t${id}`,
      description: '',
      source_server_id: `id-${server}`,
      source_server_name: server,
      original_name: `t${id}`,
      is_external: true,
      is_classified: false,
      skill_ids: [],
      primary_skill_id: null,
      embedding_model: 'm',
    },
  };
}

test('qdrant: every request has a documented shape, wrong answers are errors', async (context) => {
  const answer = ({ method, path }: Received): Answer => {
    if (method === 'GET') return { status: 404 };
    if (path.endsWith('/query'))
      return {
        body: {
          result: {
            points: [
              { id: 2, score: 0.5, version: 1 },
              { id: 1, score: 0.5, version: 1 },
            ],
          },
        },
      };
    return { body: { result: true } };
  };
  const { url, received } = await startLoopback(context, answer);
  const qdrant = createQdrant({ url: `${url}/`, apiKey: 'secret' });
  await qdrant.prepare(4);
  await qdrant.upsert([point(1, 'a', [1, 0, 0, 0])]);
  await qdrant.setSkills(1, ['email'], 'email');
  await qdrant.delete([1]);
  await qdrant.delete([]);
  await qdrant.deleteServer('id-a');
  const found = await qdrant.search(Float32Array.from([1, 0, 0, 0]), 5, {
    serverNames: ['a'],
    skillIds: ['email'],
    isExternal: true,
    embeddingModel: 'm',
  });
  assert.deepEqual(
    found.map(({ id }) => id),
    [1, 2],
  );
  for (const { method, path, body, headers } of received) {
    const shape = shapes[`${method} ${path}`];
    assert.ok(shape, `${method} ${path}`);
    shape.parse(body);
    assert.equal(headers['api-key'], 'secret');
  }
  assert.equal(received.filter(({ path }) => path.includes('/index')).length, 7);
});

test('qdrant: a collection of another size and a failing server are refused', async (context) => {
  const { url } = await startLoopback(context, ({ method }) =>
    method === 'GET' ? { body: { result: { config: { params: { vectors: { size: 8 } } } } } } : { status: 500 },
  );
  const qdrant = createQdrant({ url });
  await assert.rejects(qdrant.prepare(4), /vectors of 8/);
  await assert.rejects(qdrant.upsert([point(1, 'a', [1])]), /500/);
});

test('qdrant: a real server keeps, filters and deletes', { skip: process.env.QDRANT_URL === undefined }, async () => {
  const qdrant = createQdrant({ url: process.env.QDRANT_URL ?? '' });
  await qdrant.prepare(4);
  await qdrant.upsert([point(1, 'a', [1, 0, 0, 0]), point(2, 'b', [0.9, 0.1, 0, 0])]);
  const request = Float32Array.from([1, 0, 0, 0]);
  assert.deepEqual(
    (await qdrant.search(request, 5)).map(({ id }) => id),
    [1, 2],
  );
  assert.deepEqual(
    (await qdrant.search(request, 5, { serverNames: ['b'] })).map(({ id }) => id),
    [2],
  );
  await qdrant.deleteServer('id-a');
  assert.deepEqual(
    (await qdrant.search(request, 5)).map(({ id }) => id),
    [2],
  );
  await qdrant.delete([2]);
});
