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

export interface OrphanReaper {
  guard(processGroup: number): void;
  release(processGroup: number): void;
  close(): void;
}

export function createOrphanReaper(): OrphanReaper {
  const guarded = new Set<number>();
  let shell: ChildProcess | undefined;

  /** Where it cannot be started, children still end when their stdin closes, and the next child tries again. */
  function start(): void {
    const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env: {} });
    shell = child;
    const lose = () => {
      if (shell === child) shell = undefined;
    };
    child.on('error', lose).on('exit', lose);
    child.stdin?.on('error', () => undefined);
    child.unref();
    for (const processGroup of guarded) child.stdin?.write(`+ ${processGroup}\n`);
  }

  return {
    guard(processGroup) {
      if (process.platform === 'win32') return;
      guarded.add(processGroup);
      if (shell === undefined) start();
      else shell.stdin?.write(`+ ${processGroup}\n`);
    },
    release(processGroup) {
      if (guarded.delete(processGroup)) shell?.stdin?.write(`- ${processGroup}\n`);
    },
    close: () => shell?.stdin?.end(),
  };
}
