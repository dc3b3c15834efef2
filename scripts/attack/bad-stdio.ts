/** A server on stdio that is proper until the moment comes. `node bad-stdio.ts <method> <manner>` */
import { createInterface } from 'node:readline';
import { hostileMessages, properResult, type Request } from './hostile-json.ts';

const [moment = '', manner = ''] = process.argv.slice(2);

const pour = (stream: NodeJS.WriteStream, chunk: string): void => {
  const more = () => {
    while (stream.write(chunk));
  };
  stream.on('drain', more);
  more();
};

/** What only a process can do. */
const ownManners: Record<string, (request: Request) => void> = {
  silence: () => undefined,
  'exits with 1': () => process.exit(1),
  'is killed': () => process.kill(process.pid, 'SIGKILL'),
  'prints garbage': (request) => process.stdout.write(`debug: ${request.method}\n{"jsonrpc":\n[1,2]\n\n`),
  'half a line': ({ id }) => process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"res`),
  'bytes that are no text': () => process.stdout.write(Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28, 0x0a])),
  'a line without end': () => pour(process.stdout, 'x'.repeat(65_536)),
  'lines without end': () => pour(process.stdout, `${'x'.repeat(1_023)}\n`.repeat(64)),
  'errors without end': () => pour(process.stderr, `${'error '.repeat(170)}\n`.repeat(64)),
  'closes its output': () => process.stdout.destroy(),
  'burns a core': () => {
    for (;;) Math.sqrt(Math.random());
  },
};

const isBad = (method: string): boolean => method === moment;
export const stdioManners = [...Object.keys(ownManners), ...Object.keys(hostileMessages)];

if (import.meta.main)
  createInterface({ input: process.stdin }).on('line', (line) => {
    const request = JSON.parse(line) as Request;
    if (request.id === undefined) return;
    const own = ownManners[manner];
    if (!isBad(request.method)) send(JSON.stringify({ jsonrpc: '2.0', id: request.id, result: properResult(request) }));
    else if (own !== undefined) own(request);
    else for (const message of hostileMessages[manner]?.(request) ?? []) send(message);
  });

function send(message: string): void {
  process.stdout.write(`${message}\n`);
}
