/** Command lines as people paste them into the form for a server. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { splitCommandLine } from '../../web/src/command-line.ts';

suite('a command line in the field of the command', () => {
  test('is split as a shell would', () => {
    assert.deepEqual(splitCommandLine('npx -y @scope/server "/my data" --flag=\'a b\''), {
      command: 'npx',
      args: ['-y', '@scope/server', '/my data', '--flag=a b'],
      env: {},
    });
    assert.deepEqual(splitCommandLine('API_KEY="a b" DEBUG=1 uvx server \\\n  --port 8'), {
      command: 'uvx',
      args: ['server', '--port', '8'],
      env: { API_KEY: 'a b', DEBUG: '1' },
    });
    assert.deepEqual(splitCommandLine("a\\ b '' \"x\\\"y\" 'it\\s'"), {
      command: 'a b',
      args: ['', 'x"y', 'it\\s'],
      env: {},
    });
    assert.deepEqual(splitCommandLine('"C:\\Program Files\\node.exe" server.js'), {
      command: 'C:\\Program Files\\node.exe',
      args: ['server.js'],
      env: {},
    });
  });

  test('is left alone while it is a single word or a quote is open', () => {
    for (const text of ['npx', ' npx ', '/usr/bin/my-server', '', 'npx "open']) {
      assert.equal(splitCommandLine(text), undefined, text);
    }
  });
});
