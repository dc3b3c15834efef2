import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withToolFolders } from '../../src/upstream/tool-folders.ts';

const all = () => true;

test('a client from the Dock of macOS gives a short PATH: our Node and the package managers are added at its end', () => {
  const dock = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', HOME: '/Users/a' };
  const there = ['/opt/homebrew/bin', '/Users/a/.local/bin', '/Users/a/.nvm/versions/node/v24/bin'];
  const execPath = '/Users/a/.nvm/versions/node/v24/bin/node';
  const { PATH } = withToolFolders(dock, { platform: 'darwin', execPath, exists: (path) => there.includes(path) });
  assert.equal(
    PATH,
    '/usr/bin:/bin:/usr/sbin:/sbin:/Users/a/.nvm/versions/node/v24/bin:/Users/a/.local/bin:/opt/homebrew/bin',
  );
});

test('what is in PATH already stays where it is, and an environment that needs nothing is the same', () => {
  const full = { PATH: '/usr/local/bin:/n', HOME: '/h' };
  const machine = { platform: 'linux', execPath: '/n/node', exists: (path: string) => path === '/n' } as const;
  assert.equal(withToolFolders(full, machine), full);
});

test('Windows writes Path', () => {
  const env = { Path: 'C:\\Windows', USERPROFILE: 'C:\\Users\\a', APPDATA: 'C:\\Users\\a\\AppData\\Roaming' };
  const { Path = '' } = withToolFolders(env, { platform: 'win32', execPath: 'C:\\node\\node.exe', exists: all });
  assert.ok(Path.startsWith('C:\\Windows;C:\\node;C:\\Users\\a\\.local\\bin;'));
  assert.ok(Path.split(';').includes('C:\\Users\\a\\AppData\\Roaming\\npm'));
});
