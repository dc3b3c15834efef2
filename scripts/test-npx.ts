/**
 * `npm run test:npx`: the package as a new user meets it. Packs it, and runs `npx ./mcp-aggregator-*.tgz setup` in an
 * empty home with each Node that we support, until `setup --undo`; with one that is too old, a sentence says so.
 * Downloads from the registry.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});

const directory = mkdtempSync(join(tmpdir(), 'npx-'));
const nodes: [version: string, isSupported: boolean][] = [
  ['24', true],
  ['22', true],
  ['22.18.0', true],
  ['20', false],
];

try {
  const tarball = pack();
  for (const [version, isSupported] of nodes) {
    const home = join(directory, `home-${version}`);
    mkdirSync(home);
    copyFileSync(tarball, join(home, basename(tarball)));
    const run = createRunner(installNode(version), home, await freePort());
    if (isSupported) checkSetup(run, home);
    else checkRefusal(run);
    console.log(
      `ok  Node ${run('node', '--version').stdout.trim()}: ${isSupported ? 'set up, used, taken back' : 'refused in one sentence'}`,
    );
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function pack(): string {
  execFileSync('npm', ['run', 'prepack'], { cwd: root, stdio: 'ignore' });
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', directory], { cwd: root, stdio: 'ignore' });
  const name = readdirSync(directory).find((file) => file.endsWith('.tgz')) ?? assert.fail('npm pack wrote nothing');
  return join(directory, name);
}

/** npm has Node itself as a package. */
function installNode(version: string): string {
  const prefix = join(directory, `node-${version}`);
  execFileSync('npm', ['install', '--prefix', prefix, '--no-audit', '--no-fund', `node@${version}`], {
    stdio: 'ignore',
  });
  return join(prefix, 'node_modules', 'node', 'bin');
}

function createRunner(nodeFolder: string, home: string, port: number) {
  // npm runs on that Node, too; where it cannot, the sentence is npm's.
  const npm = execFileSync('npm', ['prefix', '--global'], { encoding: 'utf8' }).trim();
  const PATH = [nodeFolder, join(npm, 'bin'), '/usr/bin', '/bin'].join(delimiter);
  // How the registry is reached from here.
  const network = Object.entries(process.env).filter(([name]) =>
    /^(NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|\w+_proxy)$/i.test(name),
  );
  const npm_config_registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  const env = {
    ...Object.fromEntries(network),
    PATH,
    HOME: home,
    TMPDIR: tmpdir(),
    MCP_AGGREGATOR_PORT: String(port),
    npm_config_registry,
    npm_config_cache: join(home, '.npm'),
    npm_config_update_notifier: 'false',
  };
  return (command: string, ...args: string[]) =>
    spawnSync(command, args, { cwd: home, env, encoding: 'utf8', timeout: 300_000 });
}

type Run = ReturnType<typeof createRunner>;

/** As it is typed, with the shell's own pattern. */
function npx(run: Run, words: string) {
  return run('sh', '-c', `npx --yes ./mcp-aggregator-*.tgz ${words}`);
}

function checkSetup(run: Run, home: string): void {
  const dataDir = join(home, '.mcp-aggregator');
  const asked = npx(run, 'setup');
  assert.equal(asked.status, 2, asked.stderr);
  assert.match(asked.stderr, /Nothing was changed: confirm with --yes/);
  assert.ok(!existsSync(dataDir), 'a preview writes nothing');

  const { status, stdout, stderr } = npx(run, 'setup --yes');
  assert.equal(status, 0, `${stdout}${stderr}`);
  assert.match(stdout, /The aggregator offers \d+ tools; a call of \w+ works/);
  assert.match(stdout, /Dashboard \(the link works once\): http:\/\/127\.0\.0\.1/);
  assert.match(stdout, /To take everything back: npx mcp-aggregator setup --undo/);
  assert.doesNotMatch(stderr, /Warning/);
  // npm empties its cache when it likes to: what was set up does not depend on it.
  rmSync(join(home, '.npm'), { recursive: true, force: true });
  assert.equal(npx(run, 'stop').status, 0);
  const copy = join(dataDir, 'app');
  assert.ok(existsSync(copy), 'npx runs from a cache, so the program is copied');
  const words = `node "${findProgram(copy)}" stdio --data-dir "${dataDir}"`;
  const answer = run('sh', '-c', `printf '%s\\n' '${initialize}' | ${words}`);
  assert.match(answer.stdout, /"serverInfo":\{"name":"mcp-aggregator"/, answer.stderr);
  const undone = npx(run, 'setup --undo --yes');
  assert.equal(undone.status, 0, undone.stderr);
  assert.equal(undone.stdout, 'Everything is as it was before.\n');
  assert.deepEqual(readdirSync(home).sort(), ['.npm', readdirSync(home).find((name) => name.endsWith('.tgz'))]);
}

function findProgram(copy: string): string {
  const [version = ''] = readdirSync(copy);
  return join(copy, version, 'node_modules', 'mcp-aggregator', 'bin', 'mcp-aggregator.js');
}

function checkRefusal(run: Run): void {
  const { status, stdout, stderr } = npx(run, 'setup');
  assert.notEqual(status, 0);
  const ours = `${stdout}${stderr}`.split('\n').filter((line) => line !== '' && !line.startsWith('npm '));
  assert.deepEqual(ours.length, 1, `${stdout}${stderr}`);
  assert.match(ours[0] ?? '', /^mcp-aggregator needs Node 22\.18 or newer; this is Node 20\./);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : assert.fail('no port');
}
