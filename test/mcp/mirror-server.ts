/** A server that answers with whatever it is told to, and tells exactly what it was sent. */

import { childProgram } from '../support/child-program.ts';
import { type HttpTransport, startHttpProgram } from '../support/servers/http-program.ts';
import { type JsonObject, objectAt, RpcError } from '../support/servers/json-rpc.ts';
import { createProgram, type Era, type Program } from '../support/servers/program.ts';
import { serveStdio } from '../support/servers/stdio-wire.ts';
import { createRandom, randomObject } from './random-json.ts';

const random = createRandom(20_260_728);
const any = () => randomObject(random);
const icons = [{ src: 'https://example.com/i.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' }];

/** Definitions with members that no revision knows. */
export const definitions = {
  reply: {
    name: 'reply',
    title: 'Reply',
    description: 'Answers with `result`',
    inputSchema: { type: 'object', $defs: any(), properties: { result: true }, 'x-unknown': any() },
    outputSchema: { type: 'object', anyOf: [{ title: 'a' }, true], 'x-more': any() },
    annotations: { title: 'Reply', readOnlyHint: true, 'x-hint': any() },
    icons,
    _meta: { 'example.com/definition': any() },
    futureMember: any(),
  },
  reveal: { name: 'reveal', description: 'Shows its params', inputSchema: { type: 'object' } },
  raise: { name: 'raise', description: 'Fails with `error`', inputSchema: { type: 'object' } },
  ask: { name: 'ask', description: 'Asks the client `question`', inputSchema: { type: 'object' } },
};
export const promptDefinition = { name: 'mirror', title: 'Mirror', icons, _meta: any(), futureMember: any() };
export const resourceDefinition = {
  uri: 'mirror://one',
  name: 'one',
  size: 3,
  annotations: any(),
  icons,
  _meta: any(),
};
export const resourceContent = { text: 'one', _meta: any(), futureMember: any() };

export function createMirrorProgram(): Program {
  return createProgram({
    info: { name: 'mirror', version: '1.0.0' },
    tools: [
      { definition: definitions.reply, call: (_, args) => objectAt(args, 'result') },
      { definition: definitions.reveal, call: ({ params }) => ({ content: [], structuredContent: { params } }) },
      {
        definition: definitions.raise,
        call: (_, { code, message, data }) => {
          throw new RpcError(Number(code), String(message), data);
        },
      },
      {
        definition: definitions.ask,
        call: async (exchange, args): Promise<JsonObject> => {
          const request = { method: 'elicitation/create', params: objectAt(args, 'question') } as const;
          return { content: [], structuredContent: await exchange.ask({ question: request }) };
        },
      },
    ],
    prompts: [{ definition: promptDefinition, get: (_, { result }) => JSON.parse(String(result)) }],
    resources: [{ definition: resourceDefinition, read: () => resourceContent }],
  });
}

export function mirrorCommand(era: Era) {
  return childProgram(import.meta.url, era);
}

export const startMirror = (transport: HttpTransport) => startHttpProgram(createMirrorProgram(), { transport });

if (import.meta.main) serveStdio(createMirrorProgram(), process.argv[2] === 'modern' ? 'modern' : 'legacy');
