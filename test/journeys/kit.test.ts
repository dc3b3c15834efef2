/** What contributors find in the repository is there and true. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { planRuns } from '../../scripts/test.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const manifest = JSON.parse(read('package.json'));
const testFiles = globSync('test/**/*.test.ts', { cwd: root }).map((file) => file.replaceAll('\\', '/'));

interface Step {
  uses?: string;
  run?: string;
}
const workflow = parse(read('.github/workflows/ci.yml'));
const steps: Step[] = Object.values<{ steps: Step[] }>(workflow.jobs).flatMap((job) => job.steps);

test('CI runs on Linux, macOS and Windows with Node 22 and 24, with read access only and actions by commit', () => {
  const { os, node } = workflow.jobs.test.strategy.matrix;
  assert.deepEqual(
    [os.map((name: string) => name.split('-')[0]), node],
    [
      ['ubuntu', 'macos', 'windows'],
      ['22', '24'],
    ],
  );
  assert.deepEqual(workflow.permissions, {});
  for (const job of Object.values<Record<string, unknown>>(workflow.jobs)) {
    assert.deepEqual(job.permissions, { contents: 'read' });
    assert.ok(Number(job['timeout-minutes']) > 0);
  }
  for (const { uses, run = '' } of steps) {
    if (uses !== undefined) assert.match(uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
    // What a title or a branch holds must not become a part of a script.
    assert.doesNotMatch(run, /\$\{\{/);
  }
});

test('workflows and CONTRIBUTING.md name scripts, tests and files that exist', () => {
  const texts = [
    ...steps.map(({ run = '' }) => run),
    read('CONTRIBUTING.md'),
    read('.github/pull_request_template.md'),
  ];
  for (const text of texts) {
    for (const [, name = ''] of text.matchAll(/npm run (?:-s |--silent )?([\w:-]+)/g)) {
      assert.ok(name in manifest.scripts, `npm run ${name}`);
    }
    for (const [, words = ''] of text.replaceAll('\\\n', ' ').matchAll(/npm test -- ([^`\n#|]+)/g)) {
      const patterns = words.replace(/--test-name-pattern="[^"]*"/, '').replaceAll('"', '');
      assert.deepEqual(planRuns(patterns.trim().split(/\s+/), testFiles).unmatched, [], words);
    }
    for (const [, path = ''] of text.matchAll(/`((?:src|test|docs|deploy|examples|web|\.github|\.ci)\/[\w./-]*)`/g)) {
      assert.ok(existsSync(join(root, path)) || path === 'examples/data', path);
    }
  }
});

test('every relative link of the pages at the root resolves', () => {
  for (const page of globSync(['*.md', 'docs/*.md', 'examples/*.md'], { cwd: root })) {
    const text = read(page).replace(/^ *```[\s\S]*?^ *```/gm, '');
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(?:https?:|#)/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const file = join(dirname(page), path);
      assert.ok(existsSync(join(root, file)), `${page}: ${target}`);
      if (anchor !== undefined) assert.ok(anchorsOf(read(file)).includes(anchor), `${page}: ${target}`);
    }
  }
});

test('.nvmrc names a version of Node that package.json accepts', () => {
  assert.match(read('.nvmrc'), /^\d+\n$/);
  assert.ok(Number(read('.nvmrc')) >= Number.parseInt(manifest.engines.node.slice(2), 10));
});

test('CHANGELOG.md keeps the form: Unreleased on top, then versions with a date, each in known groups', () => {
  const headings = [...read('CHANGELOG.md').matchAll(/^## (.*)$/gm)].map(([, heading]) => heading ?? '');
  assert.equal(headings[0], '[Unreleased]');
  assert.ok(headings.some((heading) => heading.startsWith(`[${manifest.version}] - `)));
  for (const heading of headings.slice(1)) assert.match(heading, /^\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}$/);
  const groups = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
  for (const [, group = ''] of read('CHANGELOG.md').matchAll(/^### (.*)$/gm)) assert.ok(groups.includes(group), group);
});

const anchorsOf = (text: string) =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
