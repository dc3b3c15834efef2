/**
 * README.md and the pages of docs/ are true: their commands are run as they stand there, what they print is compared with
 * what the page shows, and what they name exists.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/cli.ts';
import { flagOf } from '../../src/config/config.ts';
import { type SettingName, settings } from '../../src/config/settings.ts';
import { startAggregator } from '../support/aggregator-process.ts';
import { createDesk } from '../support/desk.ts';
import { type Block, blocksOf, patternOf, type Step } from '../support/document-blocks.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const pages = globSync(['README.md', 'docs/*.md', 'examples/README.md'], { cwd: root })
  .map((path) => path.replaceAll('\\', '/'))
  .sort();
const isCommands = ({ language }: Block) => language === 'sh' || language === 'console';

const addFiles = 'mcp-aggregator add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes';
/** What a page takes for granted. */
const before: Record<string, readonly string[]> = {
  'docs/profiles.md': [
    'mcp-aggregator add filesystem -- npx -y @modelcontextprotocol/server-filesystem ~/notes',
    'mcp-aggregator add memory -- npx -y @modelcontextprotocol/server-memory',
  ],
  'docs/query.md': [
    'mcp-aggregator add docs -- npx -y docs',
    'mcp-aggregator add memory -- npx -y @modelcontextprotocol/server-memory',
  ],
  'docs/rest.md': ['mcp-aggregator add everything -- npx -y @modelcontextprotocol/server-everything'],
  'docs/servers.md': [addFiles],
};

suite('commands', { skip: process.platform === 'win32' && 'commands of sh' }, () => {
  for (const page of pages) {
    const steps = blocksOf(read(page)).flatMap((block) => (isCommands(block) && !block.mark ? block.steps : []));
    if (steps.length > 0) test(page, { timeout: 280_000 }, () => runPage(page, steps));
  }
});

async function runPage(page: string, steps: readonly Step[]): Promise<void> {
  const desk = await createDesk();
  try {
    const prepared: Step[] = (before[page] ?? []).map((command) => ({ line: 0, command }));
    const all = [...prepared, ...steps];
    const ran = await desk.run(all.map(({ command }) => command));
    for (const [at, { line, command, output }] of all.entries()) {
      const { code, output: printed } = ran[at] ?? assert.fail('it was not run');
      const what = `${page}:${line}: ${command}\n${printed}`;
      assert.equal(code, 0, what);
      assert.doesNotMatch(printed, /"error_code"/, what);
      if (output !== undefined) assert.match(printed.replaceAll(desk.home, '/home/me'), patternOf(output), what);
    }
  } finally {
    await desk.close();
  }
}

test('what is not run here is run elsewhere, or says why not', () => {
  for (const page of pages) {
    for (const { language, line, mark, steps } of blocksOf(read(page))) {
      assert.notEqual(language, '', `${page}:${line} names no language`);
      if (mark?.kind !== 'run by') continue;
      assert.ok(existsSync(join(root, mark.what)), `${page}:${line}: ${mark.what}`);
      const names = steps.flatMap(({ command }) => ownCommandsIn(command)).map(({ name }) => name);
      const elsewhere = read(mark.what);
      assert.ok(names.length === 0 || names.some((name) => elsewhere.includes(name)), `${page}:${line}: ${names}`);
    }
  }
});

test('commands in running text and tables exist, with their options', () => {
  const serveFlags = Object.keys(settings).map((name) => `--${flagOf(name as SettingName)}`);
  const program = createProgram({});
  for (const page of pages) {
    const text = read(page);
    const inline = page === 'docs/troubleshooting.md' ? [] : [...text.matchAll(/`([^`\n]*mcp-aggregator [^`\n]*)`/g)];
    const commands = [...inline.map(([, command = '']) => command), ...blocksOf(text).flatMap(commandsOf)];
    for (const { name, words } of commands.flatMap(ownCommandsIn)) {
      const command = program.commands.find((one) => one.name() === name || one.aliases().includes(name));
      assert.ok(command !== undefined, `${page}: mcp-aggregator ${name}`);
      const known = new Set([...optionsOf(command), ...optionsOf(program), ...(name === 'serve' ? serveFlags : [])]);
      for (const word of beforeDashes(words)) {
        const [option = ''] = /^--[\w-]+/.exec(word) ?? [];
        assert.ok(option === '' || known.has(option), `${page}: mcp-aggregator ${name} ${option}`);
      }
    }
  }
});

const commandsOf = (block: Block): string[] => (isCommands(block) ? block.steps.map(({ command }) => command) : []);

/** `mcp-aggregator <command> …`, and the same through npx or npm. */
function ownCommandsIn(text: string): { name: string; words: string[] }[] {
  const calls = text.matchAll(/(?:^|&& |; |npx |<\()(?:mcp-aggregator|npm run -s cli --) ([a-z][\w-]*)([^\n;&|]*)/gm);
  return [...calls].map(([, name = '', rest = '']) => ({ name, words: rest.split(' #')[0]?.split(/\s+/) ?? [] }));
}

/** What follows belongs to a server. */
function beforeDashes(words: string[]): string[] {
  const end = words.indexOf('--');
  return end === -1 ? words : words.slice(0, end);
}

const optionsOf = (command: Command): string[] => [
  '--help',
  ...command.options.flatMap(({ long }) => (long == null ? [] : [long])),
  ...command.commands.flatMap(optionsOf),
];

test('files in running text exist', () => {
  const folders = /`((?:src|test|deploy|examples|scripts|bench|docs)\/[\w./-]+)`/g;
  for (const page of pages)
    for (const [, path = ''] of read(page).matchAll(folders))
      assert.ok(path === 'examples/data' || existsSync(join(root, path)), `${page}: ${path}`);
});

test('scripts, settings and paths of the API exist', async () => {
  const { scripts } = JSON.parse(read('package.json'));
  const variables = new Set(Object.values(settings).flatMap(({ env }) => [env, `${env}_FILE`]));
  const aggregator = await startAggregator();
  const headers = { authorization: `Bearer ${aggregator.token}` };
  const response = await fetch(`${aggregator.url}/openapi.json`, { headers }).finally(() => aggregator.stop());
  const { paths } = (await response.json()) as { paths: Record<string, unknown> };
  const routes = Object.keys(paths).map((path) => new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`));
  for (const page of pages) {
    const text = read(page);
    for (const [, name = ''] of text.matchAll(/npm run (?:-s |--silent )?([\w:-]+)/g))
      assert.ok(name in scripts, `${page}: ${name}`);
    for (const [name] of text.matchAll(/MCP_AGGREGATOR_[A-Z_]*[A-Z](?![\w*])/g))
      assert.ok(variables.has(name) || others.has(name), `${page}: ${name}`);
    for (const [path] of text.matchAll(/\/api\/v1\/[\w/{}.:-]*[\w}]/g))
      assert.ok(routes.some((route) => route.test(path)) || isPrefix(path, paths), `${page}: ${path}`);
  }
});

/** Variables that are no settings: those of the command line, and the mark of child processes. */
const others = new Set(['MCP_AGGREGATOR_URL', 'MCP_AGGREGATOR_TOKEN', 'MCP_AGGREGATOR_CHILD']);

const isPrefix = (path: string, paths: object) => Object.keys(paths).some((known) => known.startsWith(`${path}/`));
