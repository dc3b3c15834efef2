/** The npm package, installed into an empty directory without development dependencies, is complete. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { after, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cleanEnvironment } from '../support/aggregator-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const isWindows = process.platform === 'win32';
const directory = mkdtempSync(join(tmpdir(), 'package-'));
const installed = join(directory, 'installed', 'node_modules', 'mcp-aggregator');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
const npm = (cwd: string, ...words: string[]) =>
  promisify(execFile)('npm', words, { cwd, timeout: 200_000, shell: isWindows });
const unreachable = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|ENOTCACHED/;

suite('the npm package', () => {
  let skip = false;
  let files: string[] = [];

  after(() => rmSync(directory, { recursive: true, force: true, maxRetries: 10 }));

  test('is packed and installed', { timeout: 300_000 }, async (t) => {
    assert.ok(existsSync(join(root, 'dist-web/index.html')), 'run: npm run build:web');
    const copy = join(directory, 'copy');
    const names = [...manifest.files, 'src', 'README.md', 'LICENSE', 'package.json', 'tsconfig.json'];
    const places = new Set(names.map((name: string) => name.split('/')[0] ?? ''));
    for (const name of [...places, 'tsconfig.build.json'].filter((place) => existsSync(join(root, place)))) {
      const filter = (path: string) => relative(root, path) !== join('examples', 'data');
      cpSync(join(root, name), join(copy, name), { recursive: true, filter });
    }
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction');
    await npm(copy, 'run', 'prepack');
    await npm(copy, 'pack', '--ignore-scripts', '--pack-destination', directory);
    mkdirSync(join(directory, 'installed'));
    const tarball = join(directory, `mcp-aggregator-${manifest.version}.tgz`);
    const flags = ['--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
    try {
      await npm(join(directory, 'installed'), 'install', ...flags, tarball);
    } catch (error) {
      if (!unreachable.test(String((error as { stderr?: string }).stderr))) throw error;
      skip = true;
      return t.skip('the npm registry cannot be reached');
    }
    files = readdirSync(installed, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.includes(join('mcp-aggregator', 'node_modules')))
      .map((entry) => join(entry.parentPath, entry.name));
  });

  test('starts, and serves the dashboard', { timeout: 60_000 }, async (t) => {
    if (skip) return t.skip('the npm registry cannot be reached');
    const modules = join(directory, 'installed', 'node_modules');
    for (const name of Object.keys(manifest.devDependencies)) {
      const isShipped = locked[`node_modules/${name}`]?.dev !== true;
      assert.equal(readdirSync(modules).includes(name) && !isShipped, false, `${name} is installed`);
    }
    const command = join(modules, '.bin', isWindows ? 'mcp-aggregator.cmd' : 'mcp-aggregator');
    const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` };
    const version = await promisify(execFile)(command, ['--version'], { env, shell: isWindows, timeout: 30_000 });
    assert.equal(version.stdout.trim().split(/\s/).at(-1), manifest.version);

    const child = spawn(process.execPath, [join(installed, manifest.bin['mcp-aggregator']), 'serve'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...cleanEnvironment(directory),
        MCP_AGGREGATOR_PORT: '0',
        MCP_AGGREGATOR_DATA_DIR: join(directory, 'data'),
      },
    });
    t.after(async () => {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
    const log: string[] = [];
    let url = '';
    for await (const line of createInterface({ input: child.stderr })) {
      log.push(line);
      const record = line.startsWith('{') ? JSON.parse(line) : {};
      if (record.msg === 'mcp-aggregator is listening') {
        url = record.url;
        break;
      }
    }
    assert.notEqual(url, '', log.join('\n'));
    const page = await (await fetch(url)).text();
    const script = /<script [^>]*src="([^"]+)"/.exec(page)?.[1];
    assert.ok(script !== undefined, page.slice(0, 500));
    assert.equal((await fetch(new URL(script, url))).status, 200);
  });

  test('holds every file that its pages link to', (t) => {
    if (skip) return t.skip('the npm registry cannot be reached');
    const pages = files.filter((file) => file.endsWith('.md'));
    assert.ok(pages.some((page) => page === join(installed, 'README.md')));
    const missing: string[] = [];
    for (const page of pages) {
      const text = readFileSync(page, 'utf8').replace(/^```[\s\S]*?^```/gm, '');
      for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^(?:https?:|mailto:|#)/.test(target)) continue;
        const file = join(dirname(page), decodeURIComponent(target.split('#')[0] ?? ''));
        if (!existsSync(file)) missing.push(`${relative(installed, page)}: ${target}`);
      }
    }
    assert.deepEqual(missing, []);
  });

  test('has no sources, tests or source maps, and nothing points to one', (t) => {
    if (skip) return t.skip('the npm registry cannot be reached');
    for (const file of files) {
      const name = relative(installed, file).replaceAll('\\', '/');
      assert.doesNotMatch(name, /^(?:src|test|web|scripts|bench)\/|\.map$|\.ts$/, name);
      if (name.startsWith('dist') && name.endsWith('.js')) {
        assert.doesNotMatch(readFileSync(file, 'utf8'), /^\/\/# sourceMappingURL=(?!data:)/m, name);
      }
    }
  });

  test('package.json says what it is and what it needs', () => {
    for (const field of ['description', 'keywords', 'license', 'engines', 'bin', 'files', 'exports']) {
      assert.ok(manifest[field] !== undefined, field);
    }
  });
});
