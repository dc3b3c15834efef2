/**
 * What the image would contain, without Docker: runs the steps of deploy/Dockerfile in empty directories, lists the
 * files, starts the program from them and asks for its health. `npm run image`; takes about a minute.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'mcp-aggregator-image-'));
const build = join(work, 'build');
const image = join(work, 'image');
const withThisNode = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };

try {
  runStages(readFileSync(join(root, 'deploy/Dockerfile'), 'utf8').replaceAll('\\\n', ' '));
  checkFiles();
  await checkProgram();
} finally {
  rmSync(work, { recursive: true, force: true });
}

function runStages(dockerfile: string): void {
  const [, first = '', second = ''] = dockerfile.split(/^FROM .*$/m);
  mkdirSync(build);
  mkdirSync(image);
  for (const [, step, rest = ''] of first.matchAll(/^(COPY|RUN) (.*)$/gm)) {
    if (step === 'RUN')
      execFileSync('sh', ['-c', rest], { cwd: build, env: withThisNode, stdio: ['ignore', 'ignore', 'pipe'] });
    else copy(root, build, rest.split(' '));
  }
  for (const [, rest = ''] of second.matchAll(/^COPY (.*)$/gm)) {
    const [from = '', ...paths] = rest.split(' ');
    if (from.startsWith('--from='))
      copy(
        build,
        image,
        paths.map((path) => path.replace(/^\/build\//, '')),
      );
    else copy(root, image, rest.split(' '));
  }
}

function copy(from: string, to: string, paths: string[]): void {
  const target = paths.at(-1) ?? '.';
  for (const path of paths.slice(0, -1)) {
    cpSync(join(from, path), target.endsWith('/') ? join(to, target, basename(path)) : join(to, target), {
      recursive: true,
      verbatimSymlinks: true,
    });
  }
}

function checkFiles(): void {
  const files = readdirSync(image, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(image.length + 1));
  const own = files.filter((file) => !file.startsWith('node_modules/'));
  const megabytes = files.reduce((sum, file) => sum + statSync(join(image, file)).size, 0) / 1_048_576;
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const stray = own.filter(
    (file) => /\.ts$|^(src|test|bench|deploy|docs)\//.test(file) || /admin-token$|credential-key$|\.env/.test(file),
  );
  assert.deepEqual(stray, []);
  for (const name of Object.keys(devDependencies)) {
    if (packages[`node_modules/${name}`]?.dev === true)
      assert.ok(!files.some((file) => file.startsWith(`node_modules/${name}/package.json`)), name);
  }
  for (const file of ['LICENSE', 'package.json', 'bin/mcp-aggregator.js', 'dist/cli/cli.js'])
    assert.ok(own.includes(file), file);
  console.log(`${own.length} files of ours, ${files.length - own.length} of dependencies, ${megabytes.toFixed(1)} MB`);
}

async function checkProgram(): Promise<void> {
  const program = join(image, 'bin/mcp-aggregator.js');
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, 'serve'], {
    cwd: work,
    env: { PATH: process.env.PATH, HOME: work, MCP_AGGREGATOR_PORT: '0', MCP_AGGREGATOR_DATA_DIR: join(work, 'data') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  let output = '';
  const url = await new Promise<string | undefined>((resolve) => {
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk;
      const found = /"url":"(http:[^"]+)"/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.on('exit', () => resolve(undefined));
  });
  assert.ok(url !== undefined, output);
  const health = await fetch(`${url}/api/v1/aggregator/health`);
  assert.equal(health.status, 200);
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
  console.log('started from the image, healthy, ended cleanly');
}
