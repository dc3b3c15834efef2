/**
 * Ends our children when we cannot: a tiny shell that knows their process groups and waits on a pipe from us. The pipe
 * closes however we die, `kill -9` included. Where there is /proc it also ends what left the groups (see strays.ts). One
 * per process, about 1 MB; on Windows a Node process (see windows-reaper.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../worker-task.ts';
import { markerVariable, type Strays } from './strays.ts';

const script = `
trap '' INT TERM HUP
groups=' '
while read -r sign id; do
  case "$sign" in
    +) groups="$groups$id " ;;
    -) case "$groups" in *" $id "*) groups="\${groups%% $id *} \${groups#* $id }" ;; esac ;;
  esac
done
carriers() { grep -lsaF -e "$1" /proc/[0-9]*/environ 2>/dev/null; }
end() {
  for id in $groups; do kill -s "$1" -- "-$id" 2>/dev/null; done
  for file in $(carriers "$2"); do
    id=\${file#/proc/}
    grep -qsaF -e "$2" "$file" 2>/dev/null && kill -s "$1" "\${id%/environ}" 2>/dev/null
  done
}
[ "$groups" != ' ' ] || [ -n "$(carriers "$0")" ] || exit 0
end TERM "$0"
sleep 1
end KILL "$0"
`;

export interface OrphanReaper {
  guard(processGroup: number): void;
  release(processGroup: number): void;
  close(): void;
  readonly strays: Strays;
}

export function createOrphanReaper(strays: Strays): OrphanReaper {
  const guarded = new Set<number>();
  let reaper: ChildProcess | undefined;

  /** Where it cannot be started, children still end when their stdin closes, and the next child tries again. */
  function start(): void {
    const [command, ...args] = process.platform === 'win32' ? windowsProgram() : shellProgram(strays);
    const child = spawn(command, args, {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: {},
      windowsHide: true,
    });
    reaper = child;
    const lose = () => {
      if (reaper === child) reaper = undefined;
    };
    child.on('error', lose).on('exit', lose);
    child.stdin?.on('error', () => undefined);
    child.unref();
    for (const processGroup of guarded) child.stdin?.write(`+ ${processGroup}\n`);
  }

  return {
    guard(processGroup) {
      guarded.add(processGroup);
      if (reaper === undefined) start();
      else reaper.stdin?.write(`+ ${processGroup}\n`);
    },
    release(processGroup) {
      if (guarded.delete(processGroup)) reaper?.stdin?.write(`- ${processGroup}\n`);
    },
    close: () => reaper?.stdin?.end(),
    strays,
  };
}

type ReaperCommand = [command: string, ...args: string[]];

const shellProgram = ({ run }: Strays): ReaperCommand => ['/bin/sh', '-c', script, `${markerVariable}=${run}`];

const windowsProgram = (): ReaperCommand => [
  process.execPath,
  fileURLToPath(moduleBeside(import.meta.url, 'windows-reaper')),
];
