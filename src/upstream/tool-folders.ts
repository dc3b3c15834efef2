/** Where package managers put programs: a client that was started from the Dock of macOS knows none of these. Pure. */
import { posix, win32 } from 'node:path';

interface Machine {
  platform: NodeJS.Platform;
  /** Of the Node that runs us: `npx` stands beside it. */
  execPath: string;
  exists: (path: string) => boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The environment with these folders at the end of PATH, as far as they exist: what the user set comes first. */
export function withToolFolders(environment: Environment, machine: Machine): Environment {
  const { delimiter } = machine.platform === 'win32' ? win32 : posix;
  const name = Object.keys(environment).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  const known = (environment[name] ?? '').split(delimiter).filter((folder) => folder !== '');
  const more = foldersOf(environment, machine).filter((folder) => !known.includes(folder) && machine.exists(folder));
  return more.length === 0 ? environment : { ...environment, [name]: [...known, ...new Set(more)].join(delimiter) };
}

function foldersOf(environment: Environment, { platform, execPath }: Machine): string[] {
  const { dirname, join } = platform === 'win32' ? win32 : posix;
  const home = (platform === 'win32' ? environment.USERPROFILE : environment.HOME) ?? '';
  const inHome = (...folders: string[]) => (home === '' ? [] : folders.map((folder) => join(home, folder)));
  const common = inHome('.local/bin', '.cargo/bin', '.bun/bin', '.deno/bin', '.volta/bin', 'go/bin');
  if (platform !== 'win32') {
    const systems = ['/opt/homebrew/bin', '/usr/local/bin', '/home/linuxbrew/.linuxbrew/bin', '/usr/bin', '/bin'];
    return [
      dirname(execPath),
      ...common,
      ...inHome('.npm-global/bin', '.asdf/shims', '.local/share/mise/shims'),
      ...systems,
    ];
  }
  const under = (variable: string, ...parts: string[]) => {
    const folder = environment[variable];
    return folder === undefined ? [] : [join(folder, ...parts)];
  };
  return [
    dirname(execPath),
    ...common,
    ...under('APPDATA', 'npm'),
    ...under('LOCALAPPDATA', 'Microsoft', 'WinGet', 'Links'),
    ...under('LOCALAPPDATA', 'Programs', 'Python', 'Launcher'),
    ...inHome('scoop/shims'),
    ...under('PROGRAMDATA', 'chocolatey', 'bin'),
    ...under('PROGRAMFILES', 'nodejs'),
    ...under('PROGRAMFILES', 'Docker', 'Docker', 'resources', 'bin'),
  ];
}
