import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { describeService, type ServicePlace } from '../../src/cli/service-definition.ts';

const place: ServicePlace = {
  platform: 'linux',
  home: '/home/a b',
  dataDir: '/home/a b/.mcp-aggregator',
  program: ['/usr/bin/node', '/opt/mcp-aggregator/bin/mcp-aggregator.js'],
  nodeFlags: ['--max-semi-space-size=4'],
  environment: { PATH: '/usr/bin:/home/a b/50% $x', MCP_AGGREGATOR_PORT: '9000', MCP_AGGREGATOR_ADMIN_TOKEN: 'secret' },
  settings: ['MCP_AGGREGATOR_PORT', 'MCP_AGGREGATOR_HOST'],
  uid: 501,
};
const describe = (more: Partial<ServicePlace> = {}) =>
  describeService({ ...place, ...more }) ?? assert.fail('no service');

suite('the service of each platform', () => {
  test('systemd', (t) => {
    const { file, content, install, uninstall } = describe();
    assert.equal(file, '/home/a b/.config/systemd/user/mcp-aggregator.service');
    assert.equal(
      content,
      `# Written by: mcp-aggregator service install
[Unit]
Description=mcp-aggregator
After=network.target

[Service]
ExecStart=/usr/bin/node --max-semi-space-size=4 /opt/mcp-aggregator/bin/mcp-aggregator.js serve --data-dir "/home/a b/.mcp-aggregator"
Environment="PATH=/usr/bin:/home/a b/50%% $$x"
Environment=MCP_AGGREGATOR_PORT=9000
Restart=on-failure
RestartSec=2

[Install]
WantedBy=default.target
`,
    );
    assert.deepEqual(install.at(-1), ['systemctl', '--user', 'enable', '--now', 'mcp-aggregator.service']);
    assert.deepEqual(uninstall[0], ['systemctl', '--user', 'disable', '--now', 'mcp-aggregator.service']);

    if (spawnSync('systemd-analyze', ['--version']).status !== 0) return;
    const directory = mkdtempSync(join(tmpdir(), 'unit-'));
    t.after(() => rmSync(directory, { recursive: true }));
    const unit = join(directory, 'mcp-aggregator.service');
    writeFileSync(unit, content);
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' });
    assert.doesNotMatch(stderr, /mcp-aggregator\.service:\d+/, 'systemd understands every line');
  });

  test('launchd', () => {
    const { file, content, install } = describe({ platform: 'darwin', dataDir: '/Users/a/<x> & y' });
    assert.equal(file, '/home/a b/Library/LaunchAgents/mcp-aggregator.plist');
    const text = String(content);
    assert.match(text, /<string>--data-dir<\/string>\n {4}<string>\/Users\/a\/&lt;x&gt; &amp; y<\/string>/);
    assert.match(text, /<key>PATH<\/key><string>\/usr\/bin:\/home\/a b\/50% \$x<\/string>/);
    assert.match(text, /<key>RunAtLoad<\/key><true\/>/);
    assert.deepEqual(install, [['launchctl', 'bootstrap', 'gui/501', file]]);
    assert.doesNotMatch(text, /secret/);
  });

  test('the Task Scheduler of Windows', () => {
    const { file, content, install } = describe({
      platform: 'win32',
      dataDir: 'C:\\Users\\a b\\.mcp-aggregator',
      program: ['C:\\Program Files\\nodejs\\node.exe', 'C:\\Users\\a b\\mcp-aggregator.js'],
      environment: { USERDOMAIN: 'DESK', USERNAME: 'a b' },
    });
    assert.ok(Buffer.isBuffer(content));
    const text = content.toString('utf16le');
    assert.ok(text.startsWith('\uFEFF<?xml version="1.0" encoding="UTF-16"?>\r\n'));
    assert.match(text, /<UserId>DESK\\a b<\/UserId>/);
    assert.match(text, /<Command>C:\\Program Files\\nodejs\\node\.exe<\/Command>/);
    assert.ok(
      text.includes(
        '<Arguments>&quot;C:\\Users\\a b\\mcp-aggregator.js&quot; start --data-dir &quot;C:\\Users\\a b\\.mcp-aggregator&quot;</Arguments>',
      ),
    );
    assert.deepEqual(install[0], ['schtasks', '/create', '/tn', 'mcp-aggregator', '/xml', file, '/f']);
  });

  test('another platform has none', () => assert.equal(describeService({ ...place, platform: 'freebsd' }), undefined));
});
