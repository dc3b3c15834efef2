import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createProgram } from '../../src/cli/cli.ts';
import { commandGroups, inOwnWords } from '../../src/cli/own-words.ts';

suite('commands in messages are those that the user can type', () => {
  const cases: [how: string, script: string, environment: NodeJS.ProcessEnv, shown: string][] = [
    ['installed', '/usr/local/bin/mcp-aggregator', {}, 'mcp-aggregator add'],
    ['npx', '/home/a/.npm/_npx/1f/node_modules/mcp-aggregator/bin/mcp-aggregator.js', {}, 'npx mcp-aggregator add'],
    ['npx, Windows', 'C:\\Users\\a\\npm-cache\\_npx\\1f\\node_modules\\x.js', {}, 'npx mcp-aggregator add'],
    ['the copy that setup made', '/home/a/.mcp-aggregator/app/0.1.0/node_modules/x.js', {}, 'npx mcp-aggregator add'],
    [
      'a clone',
      '/src/bin/mcp-aggregator.js',
      { npm_lifecycle_event: 'cli', npm_package_name: 'mcp-aggregator' },
      'npm run -s cli -- add',
    ],
    [
      'a script of another project',
      '/usr/local/bin/mcp-aggregator',
      { npm_lifecycle_event: 'cli', npm_package_name: 'shop' },
      'mcp-aggregator add',
    ],
  ];
  for (const [how, script, environment, shown] of cases)
    test(how, () => assert.equal(inOwnWords('Run: mcp-aggregator add', environment, script), `Run: ${shown}`));

  test('what is no command stays', () => {
    const text = 'mcp-aggregator is listening; http://x is not an mcp-aggregator: its answer';
    assert.equal(inOwnWords(text, {}, '/a/_npx/1/node_modules/x.js'), text);
  });

  test('every command is known', () => {
    const all = createProgram({})
      .commands.map((command) => command.name())
      .filter((name) => name !== 'complete');
    assert.deepEqual(all.sort(), Object.values(commandGroups).flat().sort());
  });
});
