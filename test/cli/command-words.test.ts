import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { separateServerCommand } from '../../src/cli/command-words.ts';

const valued = new Set(['--env', '--data-dir', '--url', '--sse']);
const separate = (line: string) => separateServerCommand(line.split(' '), (option) => valued.has(option)).join(' ');

suite('what follows the command of a server belongs to it', () => {
  const cases: [given: string, understood: string][] = [
    ['add y npx -y pkg', 'add y -- npx -y pkg'],
    ['add y -- npx -y pkg', 'add y -- npx -y pkg'],
    ['add --env A=b y npx --env C=d', 'add --env A=b y -- npx --env C=d'],
    ['add y --env A=b npx -y pkg', 'add y --env A=b -- npx -y pkg'],
    ['--json add y npx -y', '--json add y -- npx -y'],
    ['--data-dir /d add y npx -y', '--data-dir /d add y -- npx -y'],
    ['add y https://a.example/mcp --header A=b', 'add y https://a.example/mcp --header A=b'],
    ['add y --sse https://a.example/sse', 'add y --sse https://a.example/sse'],
    ['add y', 'add y'],
    ['edit y node server.js --port 3', 'edit y -- node server.js --port 3'],
    ['edit y --env A=b', 'edit y --env A=b'],
    ['call y.tool a=1', 'call y.tool a=1'],
    ['list --json', 'list --json'],
  ];
  for (const [given, understood] of cases) test(given, () => assert.equal(separate(given), understood));
});
