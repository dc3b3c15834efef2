import { readFile } from 'node:fs/promises';

const deepest = 8;

/** Resident bytes of a process and everything it started (launchers like `npx` do the least themselves). Linux only. */
export async function residentMemory(pid: number, depth = 0): Promise<number | undefined> {
  const [status, children] = await Promise.all([
    readProcess(`/proc/${pid}/status`),
    depth < deepest ? readProcess(`/proc/${pid}/task/${pid}/children`) : '',
  ]);
  const kilobytes = /^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1];
  if (kilobytes === undefined) return undefined;
  const pids = children
    .split(' ')
    .map(Number)
    .filter((child) => child > 0);
  const sizes = await Promise.all(pids.map((child) => residentMemory(child, depth + 1)));
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), Number(kilobytes) * 1_024);
}

/** Empty for a process that has ended meanwhile, and where there is no /proc. */
function readProcess(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
