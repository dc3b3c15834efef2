import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import { startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';
import { commandsOf, everything, runCommand } from './command-line.ts';

let aggregator: AggregatorProcess;
let run: ReturnType<typeof commandsOf>['run'];
let json: ReturnType<typeof commandsOf>['json'];

before(async () => {
  aggregator = await startAggregator({ env: { FIXTURE_SECRET: 'from-the-environment' } });
  ({ run, json } = commandsOf(aggregator));
});
after(() => aggregator.stop());

test('list of an aggregator without servers says how to add one', async () => {
  const { code, stdout, stderr } = await run(['list']);
  assert.deepEqual({ code, stdout }, { code: 0, stdout: '' });
  assert.match(stderr, /No servers are registered\. Add one with mcp-aggregator add/);
  assert.deepEqual(await json('list'), { servers: [], total: 0, limit: 1000, offset: 0 });
});

test('add --stdio registers a server, waits until it is connected and counts its tools', async () => {
  const { code, stdout } = await run([
    'add',
    'everything',
    '--description',
    'One of each',
    '--stdio',
    '--',
    ...everything,
  ]);
  assert.equal(code, 0);
  assert.match(stdout, /^everything: CONNECTED, \d+ tools\n$/);

  const table = (await run(['list'])).stdout.split('\n');
  assert.match(table[0] ?? '', /^NAME +STATUS +TRANSPORT +TOOLS/);
  assert.match(table[1] ?? '', /^everything +CONNECTED +STDIO +\d+ +One of each$/);
  assert.equal(table[0]?.indexOf('TRANSPORT'), table[1]?.indexOf('STDIO'));
});

test('add --http and --sse connect servers over the network', async () => {
  for (const [name, flag, transport] of [
    ['over-http', '--http', 'streamable-modern'],
    ['over-sse', '--sse', 'sse'],
  ] as const) {
    const server = await startFeatureServer({ transport, label: name });
    const added = await json<{ status: string; connection_config: unknown }>(
      'add',
      name,
      flag,
      server.url,
      '--header',
      'X-Key=${FIXTURE_SECRET}',
    );
    assert.equal(added.status, 'CONNECTED');
    assert.ok(!JSON.stringify(added).includes('from-the-environment'));
    assert.equal((await run(['remove', name, '--yes'])).code, 0);
    await server.close();
  }
});

test('add passes env, cwd, and words after -- as they are', async () => {
  const misbehaving = fileURLToPath(new URL('../support/servers/misbehaving.ts', import.meta.url));
  const words = [
    '--stdio',
    '--env',
    'A=b=c',
    '--env',
    'S=${FIXTURE_SECRET}',
    '--cwd',
    '/',
    '--',
    process.execPath,
    misbehaving,
    'env',
  ];
  assert.equal((await run(['add', 'environment', ...words])).code, 0);
  const { stdout } = await run(['call', 'environment.env']);
  assert.match(stdout, /b=c/);
  assert.match(stdout, /from-the-environment/);
  const { stdout: shown } = await run(['show', 'environment']);
  assert.ok(!shown.includes('b=c') && shown.includes('***'));

  assert.equal((await run(['add', 'words', '--no-connect', '--stdio', '--', 'cmd', '--json', '--url', 'x'])).code, 0);
  const { connection_config: config } = await json<{ connection_config: unknown }>('show', 'words');
  assert.deepEqual(config, { command: 'cmd', args: ['--json', '--url', 'x'] });
});

test('add needs no transport: an address is Streamable HTTP, anything else a command', async () => {
  assert.equal((await run(['add', 'bare', '--no-connect', '--', 'cmd', '-y', 'x'])).code, 0);
  const bare = await json<Record<string, unknown>>('show', 'bare');
  assert.deepEqual([bare.transport_type, bare.connection_config], ['STDIO', { command: 'cmd', args: ['-y', 'x'] }]);
  assert.equal((await run(['add', 'far', '--no-connect', 'https://mcp.example.com/mcp'])).code, 0);
  const far = await json<Record<string, unknown>>('show', 'far');
  assert.deepEqual([far.transport_type, far.connection_config], ['HTTP', { base_url: 'https://mcp.example.com/mcp' }]);
});

test('add of a command that does not exist ends with 1 and says why', async () => {
  const { code, stderr } = await run(['add', 'missing', '--stdio', '--', 'no-such-command-anywhere']);
  assert.equal(code, 1);
  assert.match(stderr, /missing: ERROR: .*no-such-command-anywhere/);
  const { stdout } = await run(['list', '--status', 'error']);
  assert.match(stdout, /missing +ERROR/);
});

test('add --no-wait and --no-connect do not wait', async () => {
  const { command, args } = stdioFeatureServer('legacy', { initializeDelayMs: 60_000 });
  const slow = await run(['add', 'slow', '--no-wait', '--stdio', '--', command, ...args]);
  assert.deepEqual([slow.code, slow.stdout], [0, 'slow is registered and connects in the background.\n']);
  const idle = await json<{ status: string }>('add', 'idle', '--no-connect', '--stdio', '--', command);
  assert.equal(idle.status, 'DISCONNECTED');
});

test('BR-001: wrong input ends with 2, a name that is taken with 6', async () => {
  const cases: [string[], number, RegExp][] = [
    [['add', 'Upper', '--stdio', '--', 'x'], 2, /name must start with a lowercase letter/],
    [['add', 'x'], 2, /specify the URL of the server, or the command that starts it/],
    [['add', 'x', '--stdio', '--http', 'https://a.example'], 2, /not --stdio and --http/],
    [['add', 'x', '--stdio'], 2, /specify the command after --/],
    [['add', 'x', '--http', 'http://example.com/mcp'], 2, /must start with https/],
    [['add', 'x', '--http', 'https://a.example', '--env', 'A=1'], 2, /--env, --dotenv and --cwd are for --stdio/],
    [['add', 'x', '--stdio', '--env', 'A', '--', 'y'], 2, /"A" is not of the form name=value/],
    [['add', 'everything', '--stdio', '--', 'x'], 6, /Server already exists: everything/],
    [['add'], 2, /missing required argument/],
    [['list', '--status', 'asleep'], 2, /--status: "ASLEEP" is not one of/],
    [['list', '--nonsense'], 2, /unknown option/],
    [['lsit'], 2, /unknown command "lsit"\. Did you mean list\?/],
    [['sing'], 2, /unknown command "sing"; the commands are: add, audit, call/],
    [['show', 'nobody'], 4, /No server or tool is named nobody/],
    [['tools', 'nobody'], 4, /Server not found/],
    [['connect', 'nobody'], 4, /Server not found/],
    [['disconnect', 'nobody'], 4, /Server not found/],
    [['remove', 'nobody', '--yes'], 4, /Server not found/],
    [['remove', 'everything'], 2, /Confirm with --yes/],
    [['call', 'everything.nothing'], 4, /Tool not found/],
    [['call', 'everything.echo', 'message'], 2, /not of the form name=value/],
    [['call', 'everything.echo', '{"message": '], 2, /not valid JSON/],
    [['call', 'everything.echo', '[1]'], 2, /name=value/],
    [['token', 'create', 'x', '--role', 'king'], 2, /role/],
    [['token', 'create', 'x', '--expires', 'soon'], 2, /"soon" is not a valid time/],
    [['token', 'revoke', 'x'], 4, /Token not found: x/],
    [['list', '--url', 'nowhere'], 2, /not the address of an aggregator/],
    [['list', '--url', 'http://127.0.0.1:1'], 3, /No aggregator answers at .*mcp-aggregator start/],
    [['list', '--token', 'wrong'], 5, /Not authenticated/],
  ];
  for (const [words, code, message] of cases) {
    const ran = await run(words);
    assert.equal(ran.code, code, `${words.join(' ')}: ${ran.stderr}`);
    assert.match(ran.stderr, message);
    assert.equal(ran.stdout, '', words.join(' '));
  }
});

test('add sets whose a session is, when the server starts and which revisions are used', async () => {
  const server = stdioFeatureServer('legacy', { label: 'own' });
  const flags = ['--sessions', 'principal', '--start', 'always', '--protocol', 'legacy'];
  const added = await run(['add', 'own', ...flags, '--', server.command, ...server.args]);
  assert.equal(added.code, 0, added.stderr);
  const { options } = await json<{ options: Record<string, string> }>('show', 'own');
  assert.deepEqual(options, { sessions: 'principal', start: 'always', protocol: 'legacy' });
  const shown = await run(['show', 'own']);
  assert.match(shown.stdout, /^sessions +principal \(setting\): options\.sessions is principal$/m);
  const wrong = await run(['add', 'other', '--sessions', 'mine', '--', 'true']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--sessions.*auto, shared, client, principal/);
  await run(['remove', 'own', '--yes']);
});

test('tools of one server and of all', async () => {
  const { stdout } = await run(['tools', 'everything']);
  assert.match(stdout, /^TOOL +PARAMETERS +DESCRIPTION\n/);
  assert.match(stdout, /^everything\.echo +message +Echoes/m);
  assert.match(stdout, /^everything\.get-annotated-message +messageType, includeImage\? /m);
  const all = await json<{ tools: { name: string }[]; total: number }>('tools');
  assert.ok(all.tools.some(({ name }) => name === 'everything.echo'));
  assert.equal(all.total, all.tools.length);
});

test('call takes pairs, JSON and stdin, and prints text plainly', async () => {
  const outputs = [
    await run(['call', 'everything.echo', 'message=7']), // the schema says it is text
    await run(['call', 'echo', '{"message": "7"}']),
    await run(['call', 'echo', '--server', 'everything', '-'], { input: '{"message": "7"}' }),
  ];
  for (const { code, stdout } of outputs) assert.deepEqual([code, stdout], [0, 'Echo: 7\n']);
  assert.equal((await run(['call', 'everything.get-sum', 'a=2', 'b=-3'])).stdout, 'The sum of 2 and -3 is -1.\n');
  const answer = await json<{ content: unknown; isError: boolean }>('call', 'everything.echo', 'message=hi');
  assert.deepEqual(answer.content, [{ type: 'text', text: 'Echo: hi' }]);
});

test('call ends with 1 when the tool reports an error, 3 when its server is not connected', async () => {
  const wrong = await run(['call', 'everything.echo', '{}']);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stdout, /message/);
  assert.equal((await run(['disconnect', 'everything'])).code, 0);
  const gone = await run(['call', 'everything.echo', 'message=x', '--json']);
  assert.equal(gone.code, 3);
  assert.equal(JSON.parse(gone.stderr).answer.error_code, 'SERVER_UNAVAILABLE');
});

test('BR-007: disconnect, connect and connect again', async () => {
  assert.match((await run(['disconnect', 'everything', '--force'])).stdout, /^DISCONNECTED: /);
  assert.match((await run(['connect', 'everything'])).stdout, /^everything: CONNECTED, \d+ tools/);
  assert.match((await run(['connect', 'everything', '--no-wait'])).stdout, /Server already connected/);
  const failing = await run(['connect', 'missing']);
  assert.equal(failing.code, 1);
});

test('BR-008: remove --yes removes', async () => {
  const removed = await json<{ removed: string }>('remove', 'idle', '--yes');
  assert.equal(removed.removed, 'idle');
  assert.equal((await run(['show', 'idle'])).code, 4);
});

test('tokens: the secret alone is printed, roles hold, revoking ends it', async () => {
  const created = await run([
    'token',
    'create',
    'reader',
    '--role',
    'viewer',
    '--server',
    'everything',
    '--expires',
    '1h',
  ]);
  assert.match(created.stdout, /^mcpa_\S+\n$/);
  const token = created.stdout.trim();
  const env = { MCP_AGGREGATOR_TOKEN: token };

  const listed = JSON.parse((await run(['list', '--json'], { env })).stdout);
  assert.deepEqual(
    listed.servers.map(({ name }: { name: string }) => name),
    ['everything'],
  );
  const denied = await run(['call', 'everything.echo', 'message=x'], { env });
  assert.equal(denied.code, 5);
  assert.match(denied.stderr, /requires the role caller/);

  const table = (await run(['token', 'list'])).stdout;
  assert.match(table, /reader +viewer +everything/);
  assert.ok(!table.includes(token));
  assert.equal((await run(['token', 'revoke', 'reader'])).code, 0);
  assert.equal((await run(['list'], { env })).code, 5);
});

test('doctor names the server that is wrong and what to do', async () => {
  const { code, stdout } = await run(['doctor']);
  assert.equal(code, 1);
  assert.match(stdout, /^ok +Node: /m);
  assert.match(stdout, /^ok +server everything: CONNECTED/m);
  assert.match(stdout, /^problem +server missing: ERROR: .*\n +-> Run it manually .*no-such-command-anywhere/m);
  const { findings } = JSON.parse((await run(['doctor', '--json'])).stdout);
  assert.ok(findings.some(({ what, verdict }: Record<string, string>) => what === 'database' && verdict === 'ok'));
});

test('EC-006: add and doctor say so when a server has more tools than it may', async () => {
  const small = await startAggregator({ env: { MCP_AGGREGATOR_MAX_TOOLS_PER_SERVER: '3' } });
  const commands = commandsOf(small);
  const added = await commands.run(['add', 'many', '--stdio', '--', ...everything]);
  assert.equal(added.code, 0);
  const says = /CONNECTED, 3 tools: the server lists more than 3 tools; the first 3 are offered/;
  assert.match(added.stdout, says);
  assert.match((await commands.run(['doctor'])).stdout, new RegExp(`^warning +server many: ${says.source}`, 'm'));
  await small.stop();
});

test('version, --version and --help need no aggregator', async () => {
  assert.match((await runCommand(['version'])).stdout, /^mcp-aggregator \d+\.\d+\.\d+, Node \d+/);
  assert.match((await runCommand(['--version'])).stdout, /^\d+\.\d+\.\d+/);
  const { code, stdout } = await runCommand(['add', '--help']);
  assert.equal(code, 0);
  assert.match(stdout, /add files -- npx -y/);
});
