import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { toWindowsCommand } from '../src/windows-process.ts';

const files = [
  'C:\\Program Files\\nodejs\\npx.cmd',
  'C:\\Program Files\\nodejs\\node.exe',
  'C:\\tools\\run.bat',
  'D:\\work\\server.exe',
  'D:\\work\\bin\\tool.cmd',
];
const isFile = (path: string) => files.some((file) => file.toLowerCase() === path.toLowerCase());
const env = { Path: 'C:\\Windows;"C:\\Program Files\\nodejs";C:\\tools', PATHEXT: '.COM;.EXE;.BAT;.CMD' };
const find = (command: string, args: string[] = [], cwd = 'D:\\work') =>
  toWindowsCommand(command, args, { env, cwd, isFile });

suite('where a command is found', () => {
  const cases: [command: string, found: string][] = [
    ['node', 'C:\\Program Files\\nodejs\\node.EXE'],
    ['node.exe', 'C:\\Program Files\\nodejs\\node.exe'],
    ['.\\server', 'D:\\work\\server.EXE'],
    ['./server.exe', 'D:\\work\\server.exe'],
    ['D:\\work\\server.exe', 'D:\\work\\server.exe'],
    ['server', 'server'], // not in the current directory
    ['nothing', 'nothing'],
  ];
  for (const [command, found] of cases) test(command, () => assert.equal(find(command).file, found));
});

suite('programs get their arguments from Node, scripts through cmd.exe', () => {
  test('a program', () => {
    const args = ['a b', '%PATH%', 'x & y'];
    assert.deepEqual(find('node', args), {
      file: 'C:\\Program Files\\nodejs\\node.EXE',
      args,
      windowsVerbatimArguments: false,
    });
  });
  for (const script of ['npx', 'npx.cmd', 'C:\\tools\\run.bat', 'bin\\tool']) {
    test(script, () => assert.match(find(script).file, /\\System32\\cmd\.exe$/));
  }
  const cases: [arg: string, quoted: string][] = [
    ['plain', '"plain"'],
    ['', '""'],
    ['a b', '"a b"'],
    ['x & calc', '"x & calc"'],
    ['say "hi"', '"say ""hi"""'],
    ['C:\\dir\\', '"C:\\dir\\\\"'],
    ['\\"', '"\\\\"""'],
    ['^caret', '"^caret"'],
    ['%PATH%', '"%%cd:~,%PATH%%cd:~,%"'],
    ['!name!', '"!name!"'],
  ];
  for (const [arg, quoted] of cases) {
    test(`${JSON.stringify(arg)} through a script`, () => {
      const { args, windowsVerbatimArguments } = find('npx', [arg]);
      const script = '"C:\\Program Files\\nodejs\\npx.CMD"';
      assert.deepEqual(args, ['/d', '/e:on', '/v:off', '/s', '/c', `"${script} ${quoted}"`]);
      assert.equal(windowsVerbatimArguments, true);
    });
  }
  test('a line break would end the command of a script', () => {
    assert.throws(() => find('npx', ['a\nb']), /cannot contain line breaks/);
    assert.doesNotThrow(() => find('node', ['a\nb']));
  });
});
