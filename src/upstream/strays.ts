/**
 * Processes that a STDIO server left behind outside of its process group (`setsid`, a double fork). Node can be no
 * subreaper, so every child gets a marker in its environment, which its descendants inherit, and /proc/<pid>/environ
 * tells who carries it. Linux only; elsewhere nothing is found. A program that clears its environment is not found.
 */
import { createHash, randomBytes } from 'node:crypto';
import { close, open, read, readFileSync, realpathSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

export const markerVariable = 'MCP_AGGREGATOR_CHILD';

export interface Strays {
  /** What the markers of this run begin with. */
  readonly run: string;
  /** A marker for a new child. */
  mark(): string;
  /** Ends every process that carries the marker, and returns how many there were. */
  end(marker: string): Promise<number>;
  /** Ends what earlier runs on the same data directory left behind when they crashed. */
  endEarlierRuns(): Promise<number>;
}

interface Carrier {
  pid: number;
  /** In ticks since the boot: with the pid, it names a process for good. */
  startTime: string;
  marker: string;
}

export const termGraceMs = 1_500;
const killGraceMs = 500;
const pollMs = 25;
/** What still starts new processes after so many rounds of SIGKILL is left to the next start. */
const maxRounds = 5;
const scanTimeoutMs = 5_000;
/** Two of libuv's four threads: reading the environment of a process that hangs in the kernel can hang, too. */
const parallelReads = 2;
const chunkBytes = 65_536;
/** The kernel takes at most 6 MB of arguments and environment. */
const maxEnvironmentBytes = 8_388_608;
const maxMarkerChars = 256;
// A FileHandle costs three times as much, and there is one file per process of the machine.
const [openFile, readChunk, closeFile] = [promisify(open), promisify(read), promisify(close)];

export function createStrays(dataDir: string): Strays {
  const owner = `${ownerOf(dataDir)}.`;
  const run = `${owner}${randomBytes(8).toString('hex')}.`;
  const scan = createScanner(owner);

  async function endAll(isMeant: (marker: string) => boolean): Promise<number> {
    const ended = new Set<string>();
    for (let round = 0; round < maxRounds; round += 1) {
      const found = (await scan()).filter(({ marker }) => isMeant(marker));
      if (found.length === 0) break;
      for (const carrier of found) {
        if (signal(carrier, round === 0 ? 'SIGTERM' : 'SIGKILL')) ended.add(`${carrier.pid} ${carrier.startTime}`);
      }
      await untilGone(found, round === 0 ? termGraceMs : killGraceMs);
    }
    return ended.size;
  }

  return {
    run,
    mark: () => `${run}${randomBytes(8).toString('hex')}`,
    end: (marker) => endAll((found) => found === marker),
    endEarlierRuns: () => endAll((found) => !found.startsWith(run)),
  };
}

/** The same for every run on a data directory, which one process owns at a time, and for no other directory. */
function ownerOf(dataDir: string): string {
  const { dev, ino } = statSync(dataDir);
  return createHash('sha256')
    .update(`${dev} ${ino} ${realpathSync(dataDir)}`)
    .digest('hex')
    .slice(0, 16);
}

/** Requests during a scan share the next one: many servers that end together cost two scans. */
function createScanner(owner: string): () => Promise<Carrier[]> {
  let running: Promise<Carrier[]> | undefined;
  let next: Promise<Carrier[]> | undefined;

  function start(): Promise<Carrier[]> {
    const scan = findCarriers(owner).finally(() => {
      if (running === scan) running = undefined;
    });
    running = scan;
    return scan;
  }

  return () => {
    if (running === undefined) return start();
    next ??= running.then(() => {
      next = undefined;
      return start();
    });
    return next;
  };
}

async function findCarriers(owner: string): Promise<Carrier[]> {
  const names = await readdir('/proc').catch(() => []); // no /proc: nothing can be found
  const pids = names.map(Number).filter((pid) => pid > 1 && pid !== process.pid && pid !== process.ppid);
  const carriers: Carrier[] = [];
  const latest = Date.now() + scanTimeoutMs;
  const readOn = async () => {
    const buffer = Buffer.allocUnsafe(chunkBytes);
    for (let pid = pids.pop(); pid !== undefined && Date.now() < latest; pid = pids.pop()) {
      const carrier = await readCarrier(pid, owner, buffer);
      if (carrier !== undefined) carriers.push(carrier);
    }
  };
  const timer = new AbortController();
  const reading = Promise.all(Array.from({ length: parallelReads }, readOn));
  // Aborted: the reading was first.
  await Promise.race([reading, delay(scanTimeoutMs, undefined, { signal: timer.signal }).catch(() => undefined)]);
  timer.abort();
  return carriers;
}

/**
 * Few processes carry a marker, so the start time is read only of those, and the environment once more after
 * it: a process that still has both at the signal is the one that was found.
 */
async function readCarrier(pid: number, owner: string, buffer: Buffer): Promise<Carrier | undefined> {
  try {
    const marker = await readMarker(pid, owner, buffer);
    if (marker === undefined) return undefined;
    const startTime = startTimeIn(await readFile(`/proc/${pid}/stat`, 'utf8'));
    if (startTime === undefined || (await readMarker(pid, owner, buffer)) !== marker) return undefined;
    return { pid, startTime, marker };
  } catch {
    return undefined; // it has ended, or belongs to another user
  }
}

async function readMarker(pid: number, owner: string, buffer: Buffer): Promise<string | undefined> {
  const file = await openFile(`/proc/${pid}/environ`, 'r');
  try {
    return await findMarker(file, owner, buffer);
  } finally {
    await closeFile(file);
  }
}

async function findMarker(file: number, owner: string, buffer: Buffer): Promise<string | undefined> {
  const beginning = `\0${markerVariable}=`;
  const wanted = beginning + owner;
  let rest = '\0';
  for (let total = 0; total < maxEnvironmentBytes; ) {
    const { bytesRead } = await readChunk(file, buffer, 0, chunkBytes, null);
    const text = rest + buffer.toString('latin1', 0, bytesRead);
    const at = text.indexOf(wanted);
    const end = at === -1 ? -1 : text.indexOf('\0', at + 1);
    const isLast = bytesRead < chunkBytes;
    if (at !== -1 && (end !== -1 || isLast)) {
      return text.slice(at + beginning.length, end === -1 ? undefined : end);
    }
    if (isLast) return undefined;
    total += bytesRead;
    rest = at === -1 ? text.slice(-wanted.length) : text.slice(at, at + maxMarkerChars);
  }
  return undefined;
}

/** Synchronous, so that nothing happens between the check and the signal. */
function signal(carrier: Carrier, name: NodeJS.Signals): boolean {
  try {
    return isThere(carrier) && process.kill(carrier.pid, name);
  } catch {
    return false; // it ended meanwhile, or we may not
  }
}

function isThere({ pid, startTime }: Carrier): boolean {
  try {
    return startTimeIn(readFileSync(`/proc/${pid}/stat`, 'utf8')) === startTime;
  } catch {
    return false; // it has ended
  }
}

/** Field 22, counted after the name, which may hold anything; undefined for a process that only waits for its parent. */
function startTimeIn(stat: string): string | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

/** There is no event for the end of a process that is not our child. */
async function untilGone(carriers: readonly Carrier[], graceMs: number): Promise<void> {
  const latest = Date.now() + graceMs;
  while (carriers.some(isThere) && Date.now() < latest) await delay(pollMs);
}
