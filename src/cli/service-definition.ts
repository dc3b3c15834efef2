/** How each platform starts the aggregator at the login of its user: the file, and the commands around it. Pure. */
import { posix, win32 } from 'node:path';
import type { Program } from './own-program.ts';

const label = 'mcp-aggregator';

export interface ServiceDefinition {
  title: string;
  file: string;
  /** What is written into the file. */
  content: string | Buffer;
  /** The part of it that names the data directory: each user has one service. */
  mark: string | Buffer;
  /** Makes it known and starts it; each must succeed. */
  install: Program[];
  /** Starts it again after it was stopped, where the platform does it without the help of this program. */
  start?: Program;
  /** Stops it and forgets it; those that fail had nothing to do. */
  uninstall: Program[];
  /** Succeeds while it is known and wanted. */
  status: Program;
  /** Succeeds where the platform can do this at all. */
  probe: Program;
}

export interface ServicePlace {
  platform: NodeJS.Platform;
  home: string;
  dataDir: string;
  /** Everything up to our own command. */
  program: Program;
  nodeFlags: readonly string[];
  environment: Readonly<Record<string, string | undefined>>;
  /** Names of the variables of our settings that are not secret. */
  settings?: readonly string[];
  /** More flags of `serve`. */
  flags?: readonly string[];
  uid?: number;
}

export function describeService(place: ServicePlace): ServiceDefinition | undefined {
  if (place.platform === 'linux') return systemdService(place);
  if (place.platform === 'darwin') return launchdService(place);
  return place.platform === 'win32' ? taskOfWindows(place) : undefined;
}

/** Node, its flags, our program, and what it is to do. */
function wordsOf(
  { program: [node, ...script], nodeFlags, dataDir, flags = [] }: ServicePlace,
  command: string,
): Program {
  const own = [command, '--data-dir', dataDir];
  return command === 'serve' ? [node, ...nodeFlags, ...script, ...own, ...flags] : [node, ...script, ...own];
}

/** How Node and servers reach the network. */
const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY'];
const networkVariables = [
  ...[...proxies, ...proxies.map((name) => name.toLowerCase()), 'NODE_USE_ENV_PROXY'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE'],
];

/** Everything else that the user's shell has set is none of the service's. */
function variablesOf({ environment, settings = [] }: ServicePlace): [name: string, value: string][] {
  const wanted = ['PATH', ...networkVariables, ...settings];
  return wanted.flatMap((name): [string, string][] =>
    environment[name] === undefined ? [] : [[name, environment[name]]],
  );
}

function systemdService(place: ServicePlace): ServiceDefinition {
  const { home, environment } = place;
  const unit = `${label}.service`;
  const control = (...words: string[]): Program => ['systemctl', '--user', ...words];
  const content = `# Written by: mcp-aggregator service install
[Unit]
Description=mcp-aggregator
After=network.target

[Service]
ExecStart=${wordsOf(place, 'serve').map(systemdWord).join(' ')}
${variablesOf(place)
  .map(([name, value]) => `Environment=${systemdWord(`${name}=${value}`)}`)
  .join('\n')}
Restart=on-failure
RestartSec=2

[Install]
WantedBy=default.target
`;
  return {
    title: 'systemd user service',
    file: posix.join(environment.XDG_CONFIG_HOME ?? posix.join(home, '.config'), 'systemd', 'user', unit),
    content,
    mark: `--data-dir ${systemdWord(place.dataDir)}`,
    install: [control('daemon-reload'), control('enable', '--now', unit)],
    start: control('start', unit),
    uninstall: [control('disable', '--now', unit), control('daemon-reload')],
    status: control('is-active', '--quiet', unit),
    probe: control('show-environment'),
  };
}

/** `%` begins a specifier and `$` a variable; quotes and backslashes are as in C. */
function systemdWord(word: string): string {
  const plain = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replace(/["\\]/g, '\\$&')}"`;
}

function launchdService(place: ServicePlace): ServiceDefinition {
  const { home, dataDir, uid = 0 } = place;
  const file = posix.join(home, 'Library', 'LaunchAgents', `${label}.plist`);
  const domain = `gui/${uid}`;
  const log = xml(posix.join(dataDir, 'aggregator.log'));
  const content = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by: mcp-aggregator service install -->
<plist version="1.0">
<dict>
  <key>Label</key><string>${label}</string>
  <key>ProgramArguments</key>
  <array>
${wordsOf(place, 'serve')
  .map((word) => `    <string>${xml(word)}</string>`)
  .join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${variablesOf(place)
  .map(([name, value]) => `    <key>${name}</key><string>${xml(value)}</string>`)
  .join('\n')}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key>
  <dict><key>SuccessfulExit</key><false/></dict>
  <key>ProcessType</key><string>Interactive</string>
  <key>StandardOutPath</key><string>${log}</string>
  <key>StandardErrorPath</key><string>${log}</string>
</dict>
</plist>
`;
  return {
    title: 'launch agent',
    file,
    content,
    mark: `<string>${xml(dataDir)}</string>`,
    install: [['launchctl', 'bootstrap', domain, file]],
    start: ['launchctl', 'kickstart', `${domain}/${label}`],
    uninstall: [['launchctl', 'bootout', `${domain}/${label}`]],
    status: ['launchctl', 'print', `${domain}/${label}`],
    probe: ['launchctl', 'print', domain],
  };
}

/** The task starts the aggregator in the background and ends: a task that keeps running would show a window. */
function taskOfWindows(place: ServicePlace): ServiceDefinition {
  const { dataDir, environment } = place;
  const [command, ...args] = wordsOf(place, 'start');
  const user = [environment.USERDOMAIN, environment.USERNAME].filter(Boolean).join('\\');
  const file = win32.join(dataDir, `${label}-task.xml`);
  const content = `<?xml version="1.0" encoding="UTF-16"?>
<!-- Written by: mcp-aggregator service install -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>mcp-aggregator</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled><UserId>${xml(user)}</UserId></LogonTrigger></Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>${xml(user)}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT5M</ExecutionTimeLimit>
    <Hidden>true</Hidden>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>${xml(command)}</Command>
      <Arguments>${xml(args.map(windowsWord).join(' '))}</Arguments>
    </Exec>
  </Actions>
</Task>
`;
  return {
    title: 'scheduled task',
    file,
    // The Task Scheduler reads no other encoding with certainty.
    content: Buffer.from(`\uFEFF${content.replaceAll('\n', '\r\n')}`, 'utf16le'),
    mark: Buffer.from(xml(windowsWord(dataDir)), 'utf16le'),
    install: [
      ['schtasks', '/create', '/tn', label, '/xml', file, '/f'],
      ['schtasks', '/run', '/tn', label],
    ],
    uninstall: [['schtasks', '/delete', '/tn', label, '/f']],
    status: ['schtasks', '/query', '/tn', label],
    probe: ['schtasks', '/query'],
  };
}

/** As programs of Windows split their command line. */
function windowsWord(word: string): string {
  if (word !== '' && !/[\s"]/.test(word)) return word;
  return `"${word.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`;
}

function xml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
