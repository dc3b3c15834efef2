/** An MCP server on stdio with one of everything that the playground shows. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createProgram, progress, structured, text } from '../support/servers/program.ts';
import { serveStdio } from '../support/servers/stdio-wire.ts';

const sizes = [
  { const: 's', title: 'Small' },
  { const: 'l', title: 'Large' },
];
const toppings = [
  { const: 'olives', title: 'Olives' },
  { const: 'basil', title: 'Fresh basil' },
];
const order = {
  type: 'object',
  properties: {
    email: { type: 'string', format: 'email', title: 'E-mail' },
    size: { type: 'string', title: 'Size', oneOf: sizes },
    toppings: { type: 'array', title: 'Toppings', items: { anyOf: toppings } },
    extras: { type: 'array', title: 'Extras', items: { type: 'object', properties: { name: { type: 'string' } } } },
  },
  required: ['email'],
};
const survey = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Your name', minLength: 2 },
    size: { type: 'string', title: 'Size', enum: ['s', 'l'], enumNames: ['Small', 'Large'] },
    toppings: { type: 'array', title: 'Toppings', items: { anyOf: toppings }, minItems: 1 },
  },
  required: ['name', 'toppings'],
};

const report = `# Sales

| Region | *Total* |
|:-------|--------:|
| North  | **12**  |
| South  | 30      |

- first
  - *nested*
    1. deep

<img src=x onerror=alert(1)>`;

serveStdio(
  createProgram({
    info: { name: 'kitchen', version: '1.0.0' },
    tools: [
      {
        definition: { name: 'order', description: 'Orders a *pizza*:\n\n- hot\n  - really', inputSchema: order },
        call: (_, args) => structured({ ordered: args }),
      },
      {
        definition: {
          name: 'report',
          description: 'Reports the sales',
          inputSchema: { type: 'object', properties: {} },
          annotations: { readOnlyHint: true, destructiveHint: false },
        },
        call: () => text(report),
      },
      {
        definition: {
          name: 'empty_fridge',
          description: 'Throws everything away',
          inputSchema: {
            type: 'object',
            properties: { count: { type: 'integer' }, sure: { type: 'boolean' }, note: { type: 'string' } },
          },
          outputSchema: { type: 'object', properties: { thrown: { type: 'integer', description: 'How many' } } },
          annotations: { destructiveHint: true },
        },
        call: (_, { count }) => structured({ thrown: Number(count ?? 0) }),
      },
      {
        definition: { name: 'bake', description: 'Takes a minute', inputSchema: { type: 'object', properties: {} } },
        async call(exchange) {
          progress(exchange, 1, 4, 'dough is rising');
          await sleep(60_000, undefined, { signal: exchange.signal });
          return text('baked');
        },
      },
      {
        definition: { name: 'ask', description: 'Asks the user', inputSchema: { type: 'object', properties: {} } },
        async call(exchange) {
          const params = { mode: 'form', message: 'What would you like?', requestedSchema: survey };
          return structured(await exchange.ask({ form: { method: 'elicitation/create', params } }));
        },
      },
      {
        definition: { name: 'think', description: 'Asks a model', inputSchema: { type: 'object', properties: {} } },
        async call(exchange) {
          const content = { type: 'text', text: 'Name a pizza' };
          const params = { messages: [{ role: 'user', content }], systemPrompt: 'You are a cook.', maxTokens: 100 };
          return structured(await exchange.ask({ sample: { method: 'sampling/createMessage', params } }));
        },
      },
    ],
    resources: [
      {
        definition: { uri: 'kitchen://menu', name: 'menu', title: 'The menu', mimeType: 'text/markdown' },
        read: () => ({ mimeType: 'text/markdown', text: '# Menu\n\n*Margherita*' }),
      },
    ],
    templates: [
      {
        definition: { uriTemplate: 'kitchen://recipes/{dish}', name: 'recipe', description: 'The recipe of a dish' },
        read: (uri) =>
          uri.startsWith('kitchen://recipes/') ? { text: `Recipe of ${decodeURIComponent(uri.slice(18))}` } : undefined,
      },
    ],
    prompts: [
      {
        definition: {
          name: 'invite',
          description: 'Invites a guest',
          arguments: [{ name: 'guest', description: 'Who comes', required: true }, { name: 'day' }],
        },
        get: (_, { guest }) => ({
          description: 'An invitation',
          messages: [{ role: 'user', content: { type: 'text', text: `Invite ${String(guest)} for **pizza**` } }],
        }),
      },
    ],
  }),
  'legacy',
);
