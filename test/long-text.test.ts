import assert from 'node:assert/strict';
import { text as collect } from 'node:stream/consumers';
import { test } from 'node:test';
import { inPieces } from '../src/long-text.ts';

test('a long text arrives as it was, whatever stands where it is divided', async () => {
  for (const shift of ['', 'x']) {
    const long = shift + '🙂'.repeat(300_000);
    assert.equal(await collect(inPieces(long)), long);
  }
});
