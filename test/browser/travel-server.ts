/** An MCP server on stdio with nested arguments, progress, and as many tools as asked for. */
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const count = Number(process.argv[2] ?? 0);

const bookTrip = {
  name: 'book_trip',
  description: 'Books a trip for several travellers',
  inputSchema: {
    type: 'object',
    properties: {
      destination: { type: 'string', description: 'Where to', minLength: 2 },
      travel_class: { type: 'string', enum: ['economy', 'business'], default: 'economy' },
      travellers: {
        type: 'array',
        minItems: 1,
        items: { $ref: '#/$defs/traveller' },
      },
      contact: {
        type: 'object',
        properties: { email: { type: 'string', format: 'email' }, newsletter: { type: 'boolean', default: false } },
        required: ['email'],
      },
    },
    required: ['destination', 'travellers', 'contact'],
    $defs: {
      traveller: {
        type: 'object',
        properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
        required: ['name'],
      },
    },
  },
};

const subjects = ['invoice', 'ticket', 'photo', 'contract', 'parcel', 'meeting', 'song', 'recipe', 'sensor', 'branch'];
const verbs = ['create', 'delete', 'find', 'archive', 'share', 'rename', 'translate', 'compare', 'export', 'approve'];

const extra = Array.from({ length: count }, (_, number) => {
  const [verb, subject] = [verbs[number % verbs.length], subjects[Math.floor(number / 10) % subjects.length]];
  return {
    name: `${verb}_${subject}_${number}`,
    description: `Lets you ${verb} one ${subject} of department ${number}`,
    inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
  };
});

const send = (message: unknown) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...(message as object) })}\n`);

interface Request {
  id?: number;
  method?: string;
  params?: { protocolVersion?: string; name?: string; arguments?: unknown; _meta?: { progressToken?: unknown } };
}

async function answer({ id, method, params }: Request): Promise<void> {
  if (id === undefined) return;
  switch (method) {
    case 'initialize':
      return void send({
        id,
        result: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'travel', version: '1.0.0' },
        },
      });
    case 'tools/list':
      return void send({ id, result: { tools: [bookTrip, ...extra] } });
    case 'tools/call': {
      const progressToken = params?._meta?.progressToken;
      for (const progress of [1, 2]) {
        if (progressToken !== undefined) {
          send({
            method: 'notifications/progress',
            params: { progressToken, progress, total: 2, message: `leg ${progress}` },
          });
        }
        await sleep(20);
      }
      return void send({ id, result: { content: [{ type: 'text', text: JSON.stringify(params?.arguments) }] } });
    }
    case 'ping':
      return void send({ id, result: {} });
    default:
      return void send({ id, error: { code: -32601, message: `Method not found: ${method}` } });
  }
}

for await (const line of createInterface({ input: process.stdin })) await answer(JSON.parse(line) as Request);
