/** What a person is asked, in a terminal: before anything changes, and for what only they know. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../cli/command-line.ts';
import { cleanEnvironment } from '../support/aggregator-process.ts';
import { freePort } from '../support/ports.ts';
import { hasTerminal, runInTerminal } from '../support/pseudo-terminal.ts';

const deskServer = fileURLToPath(new URL('./desk-server.js', import.meta.url));
const secret = 'tr4cker-k3y-of-ada';

suite('setup, import and edit in a terminal', { skip: !hasTerminal && "util-linux's script is missing" }, () => {
  let home: string;
  let env: Record<string, string>;
  const vscode = '.config/Code/User/mcp.json';
  const original = JSON.stringify({
    inputs: [{ id: 'key', type: 'promptString', description: 'Key of the tracker', password: true }],
    servers: {
      tickets: {
        type: 'stdio',
        command: process.execPath,
        args: [deskServer, 'tickets'],
        env: { TOKEN: '${input:key}' },
      },
    },
  });
  const entries = () => Object.keys(JSON.parse(readFileSync(join(home, vscode), 'utf8')).servers);
  const type = (words: string[], answers: [RegExp, string][], more = {}) =>
    runInTerminal(words, answers, { env: { ...env, ...more }, cwd: home });
  const said = async () =>
    JSON.parse((await runCommand(['call', 'tickets.tickets_hello'], { env, cwd: home })).stdout).token;

  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'terminal-'));
    env = { ...cleanEnvironment(home), MCP_AGGREGATOR_PORT: String(await freePort()) };
    mkdirSync(dirname(join(home, vscode)), { recursive: true });
    writeFileSync(join(home, vscode), original);
  });
  after(async () => {
    await runCommand(['stop'], { env, cwd: home });
    rmSync(home, { recursive: true, force: true });
  });

  test('CLI-001: "n" changes nothing', async () => {
    const { code, screen } = await type(['setup', '--no-service'], [[/Do this\? \[y\/N\]/, 'n']]);
    assert.equal(code, 1, screen);
    assert.match(screen, /Nothing was changed\./);
    assert.ok(!existsSync(join(home, '.mcp-aggregator')));
    assert.equal(readFileSync(join(home, vscode), 'utf8'), original);
  });

  test('CLI-001: an input of VS Code is asked once, not shown, and stored sealed', async () => {
    const { code, screen } = await type(
      ['setup', '--no-service'],
      [
        [/Do this\? \[y\/N\]/, 'y'],
        [/Key of the tracker: /, secret],
      ],
    );
    assert.equal(code, 0, screen);
    assert.match(screen, /VS Code sees \d+ tools; a call of \w+ works/);
    assert.ok(!screen.includes(secret), 'what is typed for a secret is not shown');
    assert.deepEqual(entries(), ['gateway']);
    assert.equal(await said(), secret);
    const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    for (const { parentPath, name } of files)
      assert.ok(!readFileSync(join(parentPath, name)).includes(secret), join(parentPath, name));
    const again = await type(['setup', '--no-service'], [[/Do this\? \[y\/N\]/, 'y']]);
    assert.equal(again.code, 0, again.screen);
    assert.doesNotMatch(again.screen, /Key of the tracker: /);
  });

  test('edit opens the editor with masked secrets, and keeps them', async () => {
    const editor = join(home, 'editor');
    writeFileSync(
      editor,
      `#!/bin/sh\ncp "$1" "${home}/seen.json"\nsed -i 's/"description": null/"description": "Tickets"/' "$1"\n`,
    );
    chmodSync(editor, 0o755);
    const { code, screen } = await type(['edit', 'tickets'], [], { EDITOR: editor });
    assert.equal(code, 0, screen);
    const seen = readFileSync(join(home, 'seen.json'), 'utf8');
    assert.match(seen, /"TOKEN": "\*\*\*"/);
    assert.match((await runCommand(['show', 'tickets'], { env, cwd: home })).stdout, /description +Tickets/);
    assert.equal(await said(), secret);
    const broken = await type(['edit', 'tickets'], [], { EDITOR: 'sh -c \'echo "{" > "$1"\' --' });
    assert.equal(broken.code, 2, broken.screen);
    assert.match(broken.screen, /not valid JSON, so nothing was changed/);
  });

  test('CLI-001: setup --undo shows the difference, asks, and takes everything back', async () => {
    const { code, screen } = await type(['setup', '--undo'], [[/Take it back\? \[y\/N\]/, 'y']]);
    assert.equal(code, 0, screen);
    assert.match(screen, /Everything is as it was before\./);
    assert.equal(readFileSync(join(home, vscode), 'utf8'), original);
    assert.ok(!existsSync(join(home, '.mcp-aggregator')));
  });
});
