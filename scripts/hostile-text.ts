/**
 * `npm run hostile-text`: how long everything that reads what servers send takes for texts that were made to be slow, at
 * 64 KB, 512 KB and 4 MB. One row per reader, with the text that is the slowest at 4 MB. Exit code 1 where the time more
 * than triples when the text doubles, or where a reader throws. All texts take a quarter of an hour; `-- --every 8` takes each eighth.
 */
import { parseArgs } from 'node:util';
import { floorMs, kilobyte, type Reader, readers, timeOf } from '../test/security/hostile-readers.ts';
import { type HostileText, hostileTexts } from '../test/security/hostile-texts.ts';

const sizes = [64, 512, 4_096].map((size) => size * kilobyte);
const doublingsBetween = 3;
const maxPerDoubling = 3;

interface Row {
  reader: string;
  text: string;
  times: number[];
  perDoubling: number;
}

const { values } = parseArgs({ options: { every: { type: 'string', default: '1' } } });
const every = Number(values.every);
if (!Number.isInteger(every) || every < 1) throw new Error(`--every: "${values.every}" is no whole number above 0`);
const texts = hostileTexts.filter((_, at) => at % every === 0);
const slowest = new Map<string, Row>();
const tooSlow: Row[] = [];
const thrown: string[] = [];
for (const text of texts) {
  const made = sizes.map((size) => text.make(size));
  for (const [reader, read] of Object.entries(readers)) {
    const row = await measure(reader, read, text, made).catch((error: unknown) => String(error));
    if (typeof row === 'string') {
      thrown.push(`${reader}, ${text.name}: ${row}`);
      continue;
    }
    const before = slowest.get(reader);
    if (before === undefined || (row.times.at(-1) ?? 0) > (before.times.at(-1) ?? 0)) slowest.set(reader, row);
    if (row.perDoubling > maxPerDoubling) tooSlow.push(row);
  }
}

console.log(`${Object.keys(readers).length} readers, ${texts.length} texts; the slowest text of each reader\n`);
console.log('| reader | text | 64 KB, ms | 512 KB, ms | 4 MB, ms | growth per doubling |\n|---|---|--:|--:|--:|--:|');
for (const row of slowest.values()) console.log(toLine(row));
console.log(`\nmore than ${maxPerDoubling} per doubling: ${tooSlow.length}`);
for (const row of tooSlow) console.log(toLine(row));
console.log(`\nthrew: ${thrown.length}`);
for (const line of thrown) console.log(line);
process.exitCode = tooSlow.length + thrown.length === 0 ? 0 : 1;

async function measure(reader: string, read: Reader, { name }: HostileText, made: string[]): Promise<Row> {
  let row = toRow(reader, name, await timesOf(read, made));
  // Once more before it counts: the machine may have been busy.
  if (row.perDoubling > maxPerDoubling) row = toRow(reader, name, await timesOf(read, made));
  return row;
}

async function timesOf(read: Reader, made: string[]): Promise<number[]> {
  const times: number[] = [];
  for (const text of made) times.push((await timeOf(read, text)) ?? Number.POSITIVE_INFINITY);
  return times;
}

/** The worst of the steps; what is shorter than the floor is noise. */
function toRow(reader: string, text: string, times: number[]): Row {
  const growths = times.slice(1).map((ms, at) => ms / Math.max(floorMs, times[at] ?? 0));
  return { reader, text, times, perDoubling: Math.max(...growths) ** (1 / doublingsBetween) };
}

function toLine({ reader, text, times, perDoubling }: Row): string {
  const cells = [reader, text, ...times.map((ms) => ms.toFixed(1)), perDoubling.toFixed(2)];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
