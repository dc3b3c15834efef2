/**
 * Ends our children when we cannot: a tiny shell that knows their process groups and waits on a pipe from us. The pipe
 * closes however we die, `kill -9` included. One per process, about 1 MB; on Windows children rely on their stdin.
 */
import { type ChildProcess, spawn } from 'node:child_process';

const script = `
trap '' INT TERM HUP
groups=' '
while read -r sign id; do
  case "$sign" in
    +) groups="$groups$id " ;;
    -) case "$groups" in *" $id "*) groups="\${groups%% $id *} \${groups#* $id }" ;; esac ;;
  esac
done
for id in $groups; do kill -s TERM -- "-$id" 2>/dev/null; done
[ -z "\${groups# }" ] || sleep 1
for id in $groups; do kill -s KILL -- "-$id" 2>/dev/null; done
`;

export interface Warden {
  guard(processGroup: number): void;
  release(processGroup: number): void;
  close(): void;
}

export function createWarden(): Warden {
  let shell: ChildProcess | undefined;

  function tell(line: string): void {
    if (process.platform === 'win32') return;
    shell ??= start();
    shell.stdin?.write(`${line}\n`);
  }

  function start(): ChildProcess {
    const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env: {} });
    child.on('error', () => undefined); // without a shell, children still end when their stdin closes
    child.stdin?.on('error', () => undefined);
    child.unref();
    return child;
  }

  return {
    guard: (processGroup) => tell(`+ ${processGroup}`),
    release: (processGroup) => tell(`- ${processGroup}`),
    close: () => shell?.stdin?.end(),
  };
}
