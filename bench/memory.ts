/**
 * Resident memory of the aggregator alone with STDIO servers connected and idle: `npm run bench memory -- [--servers 20]
 * [--idle 30] [--flags="--max-semi-space-size=8"]`. With --limit <MB> it fails above that.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startAggregator } from './aggregator.ts';

const { values } = parseArgs({
  options: {
    servers: { type: 'string', default: '20' },
    idle: { type: 'string', default: '30' },
    flags: { type: 'string' },
    limit: { type: 'string' },
  },
});
const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));

const aggregator = await startAggregator(
  { MCP_AGGREGATOR_LOG_LEVEL: 'error' },
  values.flags?.split(' ').filter((flag) => flag !== ''),
);
try {
  await report('started');
  for (let number = 1; number <= Number(values.servers); number += 1) {
    const connection_config = { command: process.execPath, args: [everything, 'stdio'] };
    await aggregator.register(`server-${number}`, { transport_type: 'STDIO', connection_config });
  }
  await report(`${values.servers} servers connected`);
  await sleep(Number(values.idle) * 1_000);
  const { resident } = await report(`idle for ${values.idle} s`);
  if (values.limit !== undefined && resident > Number(values.limit)) {
    console.error(`More than ${values.limit} MB resident.`);
    process.exitCode = 1;
  }
} finally {
  await aggregator.close();
}

/** Resident memory in MB: all of it, what is read from files (the program and its libraries), and the rest. */
async function report(when: string): Promise<{ resident: number }> {
  const status = await readFile(`/proc/${aggregator.pid}/status`, 'utf8');
  const megabytes = (field: string) =>
    Math.round(Number(new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(status)?.[1]) / 1_024);
  const [resident, files] = [megabytes('VmRSS'), megabytes('RssFile')];
  console.log(`${when.padEnd(24)} ${resident} MB resident, ${files} MB of files, ${megabytes('VmHWM')} MB at most`);
  return { resident };
}
