/**
 * The orphan reaper of Windows, a process of its own: reads `+ pid` and `- pid` from its stdin, which closes however the
 * aggregator dies, and then ends what the servers that are left had started. The servers themselves die with the
 * aggregator; their children do not, and can no longer be found by `taskkill /t`, because it starts at a living process.
 */
import { execFile } from 'node:child_process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { systemProgram } from '../windows-process.ts';

const run = promisify(execFile);
const listTimeoutMs = 20_000;
const powershell = 'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ParentProcessId) $($_.ProcessId)" }';
/** The second one where the first is missing, as on new installations of Windows 11. */
const listings: [program: string, ...args: string[]][] = [
  ['wbem\\wmic.exe', 'process', 'get', 'ParentProcessId,ProcessId'],
  ['WindowsPowerShell\\v1.0\\powershell.exe', '-NoProfile', '-NonInteractive', '-Command', powershell],
];

const roots = new Set<number>();
for (const signal of ['SIGINT', 'SIGBREAK', 'SIGHUP'] as const) process.on(signal, () => undefined);
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const [sign, pid] = line.split(' ');
    if (sign === '+') roots.add(Number(pid));
    else roots.delete(Number(pid));
  })
  .on('close', () => void endAll());

async function endAll(): Promise<void> {
  if (roots.size === 0) return;
  for (const pid of descendantsOf(roots, await listProcesses())) end(pid);
}

async function listProcesses(): Promise<[parent: number, pid: number][]> {
  for (const [program, ...args] of listings) {
    const listed = await run(systemProgram(program), args, {
      encoding: 'latin1',
      timeout: listTimeoutMs,
      windowsHide: true,
    }).catch(() => undefined); // this one is missing here
    // It may be UTF-16.
    if (listed !== undefined) return pairsIn(listed.stdout.replaceAll('\0', ''));
  }
  return [];
}

function pairsIn(text: string): [number, number][] {
  return [...text.matchAll(/^\W*(\d+)\s+(\d+)\s*$/gm)].map(([, parent, pid]) => [Number(parent), Number(pid)]);
}

/** With the roots themselves, the youngest generation last. */
function descendantsOf(given: ReadonlySet<number>, processes: readonly [parent: number, pid: number][]): Set<number> {
  const found = new Set(given);
  // A set that grows while it is walked through: children follow their parents.
  for (const ancestor of found) {
    for (const [parent, pid] of processes) if (parent === ancestor && pid !== process.pid) found.add(pid);
  }
  return found;
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended
  }
}
