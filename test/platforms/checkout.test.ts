/** A checkout whose files have the line ends of Windows, as with `core.autocrlf` or from an archive. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startAggregator } from '../support/aggregator-process.ts';
import { nodeThere, pathThere } from '../support/platform.ts';
import { until } from '../support/until.ts';
import { add, api } from './rest.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const checkout = mkdtempSync(join(tmpdir(), 'crlf-'));
after(() => rmSync(checkout, { recursive: true, force: true }));

/** What runs, with the line ends of Windows in every file that is text. */
function copyCheckout(): void {
  for (const name of ['bin', 'src', 'assets', 'package.json'])
    cpSync(join(root, name), join(checkout, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'), 'junction');
  for (const name of ['bin', 'src', 'assets']) {
    for (const entry of readdirSync(join(checkout, name), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !/\.(js|ts|txt|md)$/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll('\n', '\r\n'));
    }
  }
}

test('search finds tools', async (t) => {
  copyCheckout();
  const aggregator = await startAggregator({ program: join(checkout, 'bin', 'mcp-aggregator.js') });
  t.after(() => aggregator.stop());
  const server = fileURLToPath(new URL('./argument-server.js', import.meta.url));
  await add(aggregator, 'program', nodeThere, [pathThere(server)]);
  const search = async (query: string): Promise<string[]> => {
    const { tools } = await api(aggregator, 'POST', '/search', { query });
    return tools.map(({ name }: { name: string }) => name);
  };
  await until(async () => (await search('start a child process'))[0] === 'program.stay', 'the tool is found');
  assert.equal((await search('what arguments did the program get'))[0], 'program.arguments');
  assert.deepEqual(await search('weather forecast for tomorrow'), []);
});
