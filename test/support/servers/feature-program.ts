import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type JsonObject, objectAt, RpcError } from './json-rpc.ts';
import {
  createProgram,
  type Exchange,
  log,
  type Program,
  type ProgramParts,
  progress,
  structured,
  type Tool,
  text,
} from './program.ts';
import { createTasks, declaresTasks, tasksExtension } from './tasks.ts';

export interface FeatureOptions {
  /** Appears in names and answers, so that several instances can be told apart. */
  label?: string;
  /** Generated tools beyond the fixed ones: `extra_0`, `extra_1`, … */
  extraTools?: number;
  pageSize?: number;
  instructions?: string;
  /** Also what extensions add: a tool with a view (MCP Apps), skills, an extension of its own. */
  withExtensions?: boolean;
}

/** One of everything a gateway has to carry: content, progress, input from the client, changes, failures. */
export function createFeatureProgram(options: FeatureOptions = {}): Program {
  const { label = 'fixture', extraTools = 0, pageSize, instructions = `Instructions of ${label}.` } = options;
  const extended = options.withExtensions === true ? extensionParts(label) : undefined;
  const tasks = createTasks((method, params) => program.announce(method, params));
  const seen = { cancellations: 0 };
  const program: Program = createProgram({
    info: { name: label, version: '1.0.0', title: `Fixture ${label}` },
    instructions,
    pageSize,
    tools: [
      ...answering(),
      ...waiting(seen),
      ...asking(),
      ...failing(),
      ...changing(() => program),
      whoami(() => program, label),
      tool('task', 'Runs as a task where the client knows tasks', { ms: { type: 'integer' } }, (exchange, { ms }) =>
        declaresTasks(exchange)
          ? tasks.start(exchange, async ({ signal }) => {
              await sleep(Number(ms ?? 50), undefined, { signal });
              return text('task done');
            })
          : text('done without a task'),
      ),
      ...Array.from({ length: extraTools }, (_, number) => extraTool(number, label)),
      ...(extended?.tools ?? []),
    ],
    ...readables(label),
    ...(extended === undefined ? {} : { unlistedResources: extended.unlistedResources }),
    methods: { ...tasks.methods, ...extended?.methods },
    extensions: { [tasksExtension]: {}, ...extended?.extensions },
  });
  return program;
}

type Call = Tool['call'];

function tool(name: string, description: string, properties: JsonObject, call: Call, more: JsonObject = {}): Tool {
  return { definition: { name, description, inputSchema: { type: 'object', properties }, ...more }, call };
}

function answering(): Tool[] {
  const sum = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };
  return [
    tool(
      'echo',
      'Returns its arguments and the _meta it was called with',
      { text: { type: 'string' } },
      (exchange, args) => structured({ arguments: args, meta: objectAt(exchange.params, '_meta') }),
    ),
    tool(
      'add',
      'Adds two numbers',
      { a: { type: 'number' }, b: { type: 'number' } },
      (_, { a, b }) => structured({ sum: Number(a) + Number(b) }),
      {
        title: 'Addition',
        outputSchema: sum,
        annotations: { title: 'Addition', readOnlyHint: true, idempotentHint: true },
        icons: [{ src: 'data:image/svg+xml;base64,PHN2Zy8+', mimeType: 'image/svg+xml', sizes: ['any'] }],
      },
    ),
    tool('big', 'Returns as many bytes as asked for', { bytes: { type: 'integer' } }, (_, { bytes }) =>
      text('x'.repeat(Number(bytes))),
    ),
    tool('link', 'Links to a resource that no list shows', {}, () => ({
      content: [{ type: 'resource_link', uri: 'fixture://unlisted', name: 'unlisted', mimeType: 'text/plain' }],
    })),
    tool('unknown_content', 'Returns content and fields of no known revision', {}, () => ({
      content: [{ type: 'hologram', depth: 3, payload: { nested: [1, 2] } }],
      futureField: { kept: true },
      _meta: { 'example.com/trace': 'abc' },
    })),
    tool('log', 'Emits one log message per level', {}, (exchange) => {
      for (const level of ['debug', 'info', 'warning', 'error']) log(exchange, level, `a ${level} message`);
      return text('logged');
    }),
  ];
}

function waiting(seen: { cancellations: number }): Tool[] {
  return [
    tool('progress', 'Reports n steps, then answers', { n: { type: 'integer' } }, async (exchange, { n }) => {
      const steps = Number(n ?? 3);
      for (let step = 1; step <= steps; step++) {
        progress(exchange, step, steps, `step ${step}`);
        await sleep(1);
      }
      return text(`${steps} steps`);
    }),
    tool('slow', 'Waits, unless cancelled', { ms: { type: 'integer' } }, async (exchange, { ms }) => {
      exchange.signal.addEventListener('abort', () => seen.cancellations++, { once: true });
      progress(exchange, 0, 1, 'started'); // from here on it can be cancelled
      await sleep(Number(ms ?? 1000), undefined, { signal: exchange.signal });
      return text(`waited ${ms} ms`);
    }),
    tool('pausing', 'Closes its stream n times', { n: { type: 'integer' } }, async (exchange, { n }) => {
      for (let pause = 0; pause < Number(n ?? 1); pause++) await exchange.pauseStream();
      return text(`paused ${n} times`);
    }),
    tool('cancelled_count', 'How many calls of slow were cancelled', {}, () =>
      structured({ cancelled: seen.cancellations }),
    ),
  ];
}

function asking(): Tool[] {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string', title: 'Your name' }, agree: { type: 'boolean', default: false } },
    required: ['name'],
  };
  return [
    tool('sample', "Asks the client's model", { prompt: { type: 'string' } }, async (exchange, { prompt }) => {
      const content = { type: 'text', text: String(prompt ?? 'Say something') };
      const params = { messages: [{ role: 'user', content }], maxTokens: 100 };
      return structured(await exchange.ask({ sample: { method: 'sampling/createMessage', params } }));
    }),
    tool('elicit', 'Asks the user to fill a form', {}, async (exchange) => {
      const params = { mode: 'form', message: 'Who are you?', requestedSchema: schema };
      return structured(await exchange.ask({ form: { method: 'elicitation/create', params } }));
    }),
    tool('elicit_url', 'Sends the user to a page', {}, async (exchange) => {
      // The id left the protocol with 2026-07-28.
      const id = exchange.era === 'legacy' ? { elicitationId: 'elicitation-1' } : {};
      const params = { mode: 'url', message: 'Log in, please', url: 'https://example.com/login', ...id };
      return structured(await exchange.ask({ page: { method: 'elicitation/create', params } }));
    }),
    tool('roots', 'Asks for the roots', {}, async (exchange) =>
      structured(await exchange.ask({ roots: { method: 'roots/list' } })),
    ),
  ];
}

function failing(): Tool[] {
  return [
    tool('fail', 'Answers with isError', {}, () => ({ ...text('it failed, as asked'), isError: true })),
    tool('rpc_error', 'Answers with a JSON-RPC error', {}, () => {
      throw new RpcError(-32050, 'an error of our own', { reason: 'asked for', nested: { kept: true } });
    }),
    tool('crash_mid_call', 'Breaks the connection without an answer', {}, (exchange) => {
      exchange.hangUp();
      return text('never seen');
    }),
    tool('exit', 'Ends the server', {}, (exchange) => {
      exchange.shutDown();
      return text('never seen');
    }),
  ];
}

function changing(program: () => Program): Tool[] {
  return [
    tool('change_tools', 'Adds the tool `appeared`, or removes it', {}, () => {
      const { tools, announce } = program();
      const added = !tools.delete('appeared');
      if (added)
        tools.set(
          'appeared',
          tool('appeared', 'Came later', {}, () => text('here now')),
        );
      announce('notifications/tools/list_changed');
      return structured({ added });
    }),
    tool('announce', 'Sends a notification of no known revision, later', { ms: { type: 'integer' } }, (_, { ms }) => {
      setTimeout(() => program().announce('notifications/example/news', { from: 'fixture' }), Number(ms ?? 0));
      return text('announced');
    }),
    tool('touch_resource', 'Announces a change of a resource', { uri: { type: 'string' } }, (_, { uri }) => {
      program().announce('notifications/resources/updated', { uri: uri ?? 'fixture://static' });
      return text('touched');
    }),
  ];
}

/** Shows which process and which connection answered, and with it what a gateway shares. */
function whoami(program: () => Program, label: string): Tool {
  return tool('whoami', 'Which instance answers', {}, ({ session, era }: Exchange) =>
    structured({
      ...{ label, era, instance: program().instanceId, session: session.id, pid: process.pid },
      log_level: session.logLevel ?? null,
    }),
  );
}

const subjects = ['invoice', 'customer', 'ticket', 'deployment', 'document', 'calendar', 'metric', 'payment'];
const verbs = ['create', 'list', 'delete', 'update', 'search', 'export', 'archive'];

function extraTool(number: number, label: string): Tool {
  const verb = verbs[number % verbs.length];
  const subject = subjects[Math.floor(number / verbs.length) % subjects.length];
  const description = `Generated tool ${number} of ${label}: ${verb} one ${subject}`;
  const properties = { id: { type: 'string', description: `Id of the ${subject}` }, limit: { type: 'integer' } };
  return tool(`extra_${number}`, description, properties, (_, args) => structured({ tool: number, arguments: args }));
}

/** Files of skills and views are in no list. */
function extensionParts(label: string) {
  const view = { uri: `ui://${label}/view.html`, mimeType: 'text/html;profile=mcp-app', text: `<p>${label}</p>` };
  const manual = { uri: `skill://${label}-manual/SKILL.md`, mimeType: 'text/markdown', text: `# How to use ${label}` };
  const skill = {
    uri: manual.uri,
    name: `${label}-manual`,
    description: `How to use ${label}`,
    resources: [{ uri: manual.uri, digest: `sha256:${createHash('sha256').update(manual.text).digest('hex')}` }],
  };
  return {
    extensions: {
      'io.modelcontextprotocol/ui': {},
      'io.modelcontextprotocol/skills': {},
      'example.com/own': { level: 1 },
    },
    tools: [tool('show', 'Has a view', {}, () => text('shown'), { _meta: { ui: { resourceUri: view.uri } } })],
    unlistedResources: [view, manual].map((file) => ({ definition: { ...file, name: file.uri }, read: () => file })),
    methods: { 'skills/list': () => ({ skills: [skill] }), 'skills/get': () => ({ skill }) },
  };
}

function readables(
  label: string,
): Pick<ProgramParts, 'resources' | 'unlistedResources' | 'templates' | 'prompts' | 'complete'> {
  const plain = { mimeType: 'text/plain' };
  return {
    resources: [
      {
        definition: { uri: 'fixture://static', name: 'static', description: 'A fixed text', ...plain },
        read: () => ({ ...plain, text: `static text of ${label}` }),
      },
    ],
    unlistedResources: [
      {
        definition: { uri: 'fixture://unlisted', name: 'unlisted' },
        read: () => ({ ...plain, text: 'found by link' }),
      },
    ],
    templates: [
      {
        definition: { uriTemplate: 'fixture://item/{id}', name: 'item', description: 'One item', ...plain },
        read: (uri) => {
          const id = /^fixture:\/\/item\/([^/]+)$/.exec(uri)?.[1];
          return id === undefined ? undefined : { ...plain, text: `item ${id} of ${label}` };
        },
      },
    ],
    prompts: [
      {
        definition: {
          name: 'greeting',
          title: 'Greeting',
          description: 'Greets someone',
          arguments: [{ name: 'name', description: 'Whom to greet', required: true }, { name: 'tone' }],
        },
        get: (_, { name, tone }) => ({
          description: 'A greeting',
          messages: [
            { role: 'user', content: { type: 'text', text: `Greet ${name}, ${tone ?? 'kindly'}, as ${label}.` } },
          ],
        }),
      },
    ],
    complete: (_, { name, value }) => {
      const known = name === 'tone' ? ['friendly', 'formal', 'funny'] : ['1', '10', '100', 'ada', 'alan'];
      return known.filter((candidate) => candidate.startsWith(String(value)));
    },
  };
}
