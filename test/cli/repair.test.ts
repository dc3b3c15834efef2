/** Repairing from the command line: edit, rename, enable and disable, secrets, and what is said about typos. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type AggregatorProcess, program as ourProgram, startAggregator } from '../support/aggregator-process.ts';
import { commandsOf, type Ran, type RunOptions } from './command-line.ts';

const program = fileURLToPath(new URL('../journeys/desk-server.js', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'repair-'));
const bin = join(directory, 'bin');
let aggregator: AggregatorProcess;
let run: (words: string[], options?: RunOptions) => Promise<Ran>;
let json: <T>(...words: string[]) => Promise<T>;

/** A keychain that keeps its secrets in files, called as libsecret's tool is. */
const secretTool = `#!/bin/sh
for last; do :; done
case "$1" in
  store) cat > "${directory}/secret-$last" ;;
  lookup) cat "${directory}/secret-$last" 2>/dev/null || exit 1 ;;
  clear) rm "${directory}/secret-$last" 2>/dev/null || exit 1 ;;
esac
`;

before(async () => {
  mkdirSync(bin);
  writeFileSync(join(bin, 'secret-tool'), secretTool);
  chmodSync(join(bin, 'secret-tool'), 0o755);
  const PATH = `${bin}:${process.env.PATH}`;
  aggregator = await startAggregator({ env: { PATH } });
  const commands = commandsOf(aggregator);
  run = (words, options = {}) => commands.run(words, { ...options, env: { PATH, ...options.env } });
  json = commands.json;
  for (const name of ['files', 'notes']) {
    const { code, stderr } = await run(['add', name, process.execPath, program, name, '--env', 'not-ours']);
    assert.equal(code, 0, stderr);
  }
});
after(async () => {
  await aggregator.stop();
  rmSync(directory, { recursive: true, force: true });
});

const said = async (tool: string) => JSON.parse((await run(['call', tool])).stdout);

suite('edit', () => {
  test('flags change single fields; secrets stay as they are', async () => {
    await run(['edit', 'notes', '--env', 'TOKEN=first', '--env', 'OTHER=x']);
    assert.equal((await said('notes.notes_hello')).token, 'first');
    const { code, stdout, stderr } = await run([
      'edit',
      'notes',
      '--env',
      'MORE=1',
      '--unset-env',
      'OTHER',
      '--cwd',
      directory,
    ]);
    assert.deepEqual([code, stdout], [0, 'notes: CONNECTED, 1 tool\n'], stderr);
    const shown = await json<{ connection_config: { env: object; cwd: string } }>('show', 'notes');
    assert.deepEqual(
      [shown.connection_config.env, shown.connection_config.cwd],
      [{ TOKEN: '***', MORE: '***' }, directory],
    );
    assert.equal((await said('notes.notes_hello')).token, 'first');
    assert.equal((await said('notes.notes_hello')).cwd, directory);
  });

  test('a file of variables; the options of a server', async () => {
    writeFileSync(join(directory, 'notes.env'), 'TOKEN=from the file\n');
    const { code, stderr } = await run(
      ['edit', 'notes', '--dotenv', 'notes.env', '--unset-env', 'TOKEN', '--start', 'on-demand', '--timeout', '9'],
      { cwd: directory },
    );
    assert.equal(code, 0, stderr);
    assert.equal((await said('notes.notes_hello')).token, 'from the file');
    const { options } = await json<{ options: object }>('show', 'notes');
    assert.deepEqual(options, { request_timeout: 9, start: 'on_demand' });
    await run(['edit', 'notes', '--dotenv', '', '--env', 'TOKEN=first', '--start', 'always']);
  });

  test('the command, with options that are its own', async () => {
    assert.equal((await run(['edit', 'notes', process.execPath, program, 'notes', '--token', 'x', '-y'])).code, 0);
    assert.deepEqual((await said('notes.notes_hello')).args, ['--token', 'x', '-y']);
    assert.equal((await said('notes.notes_hello')).token, 'first', 'its environment is the same');
  });

  test('what does not fit says so; what fails says why, and how to repair it', async () => {
    const cases: [words: string[], code: number, message: RegExp][] = [
      [['edit', 'notes', '--header', 'A=b'], 2, /--header is for servers over HTTP/],
      [['edit', 'notes', '--rename', 'x'], 2, /--rename is for a tool/],
      [['edit', 'notes', 'https://a.example'], 2, /is started by a command/],
      [['edit', 'notes'], 2, /Specify what to change/],
      [['edit', 'notse', '--cwd', '/'], 4, /Server not found: notse\. Did you mean notes\?/],
      [['edit', 'notes', '--cwd', '/nowhere'], 1, /the working directory "\/nowhere" does not exist/],
    ];
    for (const [words, code, message] of cases) {
      const ran = await run(words);
      assert.deepEqual([ran.code, message.test(ran.stderr)], [code, true], `${words.join(' ')}: ${ran.stderr}`);
    }
    assert.equal((await run(['edit', 'notes', '--cwd', ''])).code, 0);
  });

  test('a tool: another name, fixed and hidden arguments, and back', async () => {
    const { stdout } = await run([
      'edit',
      'notes.notes_hello',
      '--rename',
      'greet',
      '--description',
      'Greets.',
      '--fix',
      'repo=acme/x',
    ]);
    assert.equal(stdout, 'notes.notes_hello is changed; MCP clients see it as notes__greet.\n');
    const shown = await run(['show', 'notes.notes_hello']);
    assert.match(
      shown.stdout,
      /^notes\.notes_hello\(\)\n\nGreets\.\n\nfixed arguments: \{"repo":"acme\/x"\}\n\nMCP clients see it as notes__greet/,
    );
    assert.equal((await run(['edit', 'notes.notes_hello', '--reset'])).code, 0);
    assert.match((await run(['show', 'notes.notes_hello'])).stdout, /Says hello from notes/);
  });
});

test('rename: the tools follow, the sessions stay', async () => {
  assert.equal((await run(['rename', 'files', 'papers'])).stdout, 'files is now papers; its tools are papers.…\n');
  assert.equal((await said('papers.files_hello')).name, 'files');
  const taken = await run(['rename', 'papers', 'notes']);
  assert.deepEqual([taken.code, taken.stderr], [6, 'error: Server already exists: notes\n']);
  assert.equal((await run(['rename', 'papers', 'files'])).code, 0);
});

test('enable and disable: a server, a tool, a pattern', async () => {
  assert.equal((await run(['disable', 'files.files_hello'])).stdout, 'Disabled: files.files_hello\n');
  const refused = await run(['call', 'files.files_hello']);
  assert.deepEqual(
    [refused.code, refused.stderr],
    [6, 'error: Tool disabled: files.files_hello; an admin can enable it\n'],
  );
  assert.match((await run(['tools', 'files'])).stdout, /files\.files_hello \(disabled\)/);
  assert.equal((await run(['enable', 'files.files_hello'])).stdout, 'Enabled: files.files_hello\n');
  assert.equal((await run(['disable', 'files.*_hello', 'notes'])).stdout, 'Disabled: files.files_hello, notes\n');
  assert.equal((await json<{ auto_connect: boolean; status: string }>('show', 'notes')).status, 'DISCONNECTED');
  assert.match(
    (await run(['enable', 'notes', 'files.*_hello'])).stdout,
    /notes: CONNECTED, 1 tool\nEnabled: files\.files_hello/,
  );
  assert.match((await run(['disable', 'nots'])).stderr, /Did you mean notes\?/);
});

test('CLI-003: typos in names are met with what was meant', async () => {
  await run(['profile', 'set', 'coding', '--server', 'files']);
  const cases: [words: string[], message: RegExp][] = [
    [['show', 'fiels'], /No server or tool is named fiels\. Did you mean files\?/],
    [['show', 'files.file_hello'], /Did you mean files\.files_hello\?/],
    [['tools', 'fils'], /Server not found: fils\. Did you mean files\?/],
    [['connect', 'ntoes'], /Did you mean notes\?/],
    [['remove', 'note', '--yes'], /Did you mean notes\?/],
    [['call', 'files.files_helo'], /Tool not found: files\.files_helo\. Did you mean files\.files_hello\?/],
    [['call', 'files_helo'], /Did you mean files_hello\?/],
    [['profile', 'show', 'codng'], /Profile not found: codng\. Did you mean coding\?/],
    [['profile', 'set', 'coding', '--server', 'filesytem'], /Server not found: filesytem/],
    [['profile', 'set', 'coding', '--server', 'fils'], /Server not found: fils\. Did you mean files\?/],
    [['profile', 'set', 'coding', '--tool', 'fils.x'], /Server not found: fils\. Did you mean files\?/],
    [['token', 'create', 't', '--server', 'noets'], /Did you mean notes\?/],
    [['token', 'create', 't', '--profile', 'codin'], /Profile not found: codin\. Did you mean coding\?/],
    [['connect-client', 'curser'], /Did you mean cursor\?/],
    [['connect-client', 'cursor', '--profile', 'codin'], /Did you mean coding\?/],
    [['lst'], /unknown command "lst"\. Did you mean list\?/],
    [['list', '--staus', 'ERROR'], /--status/],
    [['help', 'connet'], /no help for "connet"\. Did you mean connect/],
    [['completion', 'fsh'], /Did you mean fish or zsh\?/],
  ];
  for (const [words, message] of cases) {
    const { code, stderr } = await run(words);
    assert.notEqual(code, 0, words.join(' '));
    assert.match(stderr, message, words.join(' '));
  }
});

suite('secrets', () => {
  test('from the keychain and from a command, at every connection', async () => {
    const stored = await run(['secret', 'set', 'tracker'], { input: 'from the keychain\n' });
    assert.equal(stored.stdout, 'Stored. Servers refer to it as ${keychain:tracker}\n', stored.stderr);
    assert.equal((await run(['edit', 'notes', '--env', 'TOKEN=${keychain:tracker}'])).code, 0);
    assert.equal((await said('notes.notes_hello')).token, 'from the keychain');
    const printed = join(bin, 'op');
    writeFileSync(printed, '#!/bin/sh\necho "from $1 $2"\n');
    chmodSync(printed, 0o755);
    assert.equal((await run(['edit', 'notes', '--env', 'TOKEN=${command:op read "a b"}'])).code, 0);
    assert.equal((await said('notes.notes_hello')).token, 'from read a b');
  });

  test('one that is missing, or a command that fails, says what to do', async () => {
    const missing = await run(['edit', 'notes', '--env', 'TOKEN=${keychain:nothing}']);
    assert.match(
      missing.stderr,
      /the keychain has no secret "nothing"; store it with: mcp-aggregator secret set nothing/,
    );
    const failing = await run(['edit', 'notes', '--env', 'TOKEN=${command:no-such-command}']);
    assert.match(failing.stderr, /cannot be read: no-such-command was not found/);
    assert.equal((await run(['secret', 'remove', 'tracker'])).code, 0);
    assert.equal((await run(['secret', 'remove', 'tracker'])).code, 4);
    const without = await run(['secret', 'set', 'tracker'], { input: 'x', env: { PATH: '/nowhere' } });
    assert.match(without.stderr, /^error: secret-tool was not found: install libsecret-tools/);
    assert.equal((await run(['edit', 'notes', '--unset-env', 'TOKEN'])).code, 0);
  });

  test('SEC-013: a command can be set by those alone who can read the data directory, not over the network', async () => {
    const connection_config = { command: 'x', env: { A: '${command:id}' } };
    const requests: [path: string, method: string, body: object][] = [
      ['/servers', 'POST', { name: 'remote', transport_type: 'STDIO', connection_config }],
      ['/servers/notes', 'PATCH', { connection_config }],
      ['/servers/import', 'POST', { mcpServers: { remote: connection_config } }],
    ];
    for (const [path, method, body] of requests) {
      const response = await fetch(`${aggregator.url}/api/v1/aggregator${path}`, {
        method,
        headers: { authorization: `Bearer ${aggregator.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      assert.match(
        await response.text(),
        /can be set in the config file or by the command line on the same host only/,
        path,
      );
    }
    assert.equal((await run(['show', 'remote'])).code, 4);
  });
});

test('SEC-012: the token of a data directory is sent to its aggregator and to no other program', async (t) => {
  const seen: unknown[] = [];
  const stranger = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end('{"servers":[],"total":0,"proof":"none"}');
  }).listen(0, '127.0.0.1');
  t.after(() => stranger.close());
  await once(stranger, 'listening');
  const { port } = stranger.address() as AddressInfo;
  const named = await run(['list', '--url', `http://127.0.0.1:${port}`]);
  assert.deepEqual([named.code, /is not the aggregator of/.test(named.stderr)], [5, true], named.stderr);
  // No aggregator runs on this directory, and the port is a stranger's.
  const other = join(directory, 'other');
  mkdirSync(other);
  writeFileSync(join(other, 'admin-token'), 'mcpa_admin_secret');
  writeFileSync(join(other, 'identity-key'), 'key');
  const fallen = await run(['list'], { env: { MCP_AGGREGATOR_DATA_DIR: other, MCP_AGGREGATOR_PORT: String(port) } });
  assert.equal(fallen.code, 5);
  assert.ok(seen.length > 0);
  assert.deepEqual(
    seen.filter((header) => header !== undefined),
    [],
  );
});

suite('completion', () => {
  const completed = async (...words: string[]) =>
    (await run(['complete', '--', ...words])).stdout.split('\n').filter(Boolean);
  test('commands, options, servers, tools, clients', async () => {
    assert.deepEqual(await completed('serv'), ['serve', 'service']);
    assert.deepEqual(await completed('service', ''), ['install', 'status', 'uninstall']);
    assert.deepEqual(await completed('show', 'f'), ['files', 'files.files_hello']);
    assert.deepEqual(await completed('call', 'notes.'), ['notes.notes_hello']);
    assert.deepEqual(await completed('connect', ''), ['files', 'notes']);
    assert.deepEqual(await completed('token', 'create', 'x', '--server', 'n'), ['notes']);
    assert.deepEqual(await completed('connect-client', 'cu'), ['cursor']);
    assert.deepEqual(await completed('import', '--d'), ['--data-dir', '--dry-run']);
    assert.deepEqual(await completed('add', 'x', '--', 'np'), []);
  });
  /** In the real shell, with the real command, for the line `mcp-aggregator show fi`. */
  const shells: [shell: string, ...words: string[]][] = [
    ['bash', 'COMP_WORDS=(mcp-aggregator show fi); COMP_CWORD=2; _mcp_aggregator; printf "%s\n" "${COMPREPLY[@]}"'],
    [
      'zsh',
      'compadd() { shift; print -l -- "$@" }; words=(mcp-aggregator show fi); CURRENT=3; _mcp_aggregator',
      'compdef() { }',
    ],
    ['fish', 'complete --do-complete "mcp-aggregator show fi" | string split --fields 1 \\t'],
  ];
  for (const [shell, line, before = ''] of shells) {
    const skip = spawnSync(shell, ['-c', 'true']).status !== 0 && `${shell} is not installed`;
    test(`the script of ${shell} does it in ${shell}`, { skip }, async () => {
      const command = join(bin, 'mcp-aggregator');
      writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${ourProgram}" "$@"\n`);
      chmodSync(command, 0o755);
      const script = (await run(['completion', shell])).stdout;
      const { stdout, stderr } = spawnSync(shell, ['-c', [before, script, line].join('\n')], {
        encoding: 'utf8',
        env: {
          PATH: `${bin}:${process.env.PATH}`,
          HOME: directory,
          TERM: 'xterm',
          MCP_AGGREGATOR_DATA_DIR: aggregator.dataDir,
        },
      });
      assert.equal(stdout, 'files\nfiles.files_hello\n', stderr);
    });
  }
});

test('--help is short; the settings have a page of their own', async () => {
  const { stdout } = await run(['--help']);
  assert.ok(stdout.split('\n').length < 90, `${stdout.split('\n').length} lines`);
  assert.match(stdout, /^Begin:\n {2}setup /m);
  assert.match((await run(['help', 'settings'])).stdout, /--health-interval <value> {2}MCP_AGGREGATOR_HEALTH_INTERVAL/);
  const some = (await run(['help', 'settings', 'plain http'])).stdout;
  assert.match(some, /MCP_AGGREGATOR_ALLOW_HTTP/);
  assert.doesNotMatch(some, /MCP_AGGREGATOR_HEALTH_INTERVAL/);
  assert.match((await run(['help', 'exit-codes'])).stdout, /^3 {2}the aggregator is not running/m);
});
