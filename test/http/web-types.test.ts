import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type ApiDocument, toTypes } from '../../scripts/openapi-types.ts';
import { startApp } from '../support/app.ts';

test("the dashboard's types are those of the API", async (t) => {
  const app = await startApp();
  t.after(app.close);
  const { body } = await app.api('GET', '/openapi.json');
  const written = readFileSync(new URL('../../web/src/api-types.ts', import.meta.url), 'utf8');
  assert.ok((await toTypes(body as ApiDocument)) === written, 'web/src/api-types.ts is out of date: npm run web-types');
});
