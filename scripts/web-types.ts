/** Writes web/src/api-types.ts, the types of the REST API, from the OpenAPI document that a running aggregator serves. */
import { writeFileSync } from 'node:fs';
import { startAggregator } from '../test/support/aggregator-process.ts';
import { type ApiDocument, toTypes } from './openapi-types.ts';

const { url, token, stop } = await startAggregator();
try {
  const response = await fetch(`${url}/openapi.json`, { headers: { authorization: `Bearer ${token}` } });
  writeFileSync(
    new URL('../web/src/api-types.ts', import.meta.url),
    await toTypes((await response.json()) as ApiDocument),
  );
} finally {
  await stop();
}
