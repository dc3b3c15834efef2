import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCodes, type JsonObject, objectAt, RpcError } from '../support/servers/json-rpc.ts';
import {
  createProgram,
  type Exchange,
  type InputRequest,
  InputRequired,
  log,
  missingCapability,
  type Program,
  type Prompt,
  progress,
  type ResourceTemplate,
  requireClientCapabilities,
  type Tool,
  text,
} from '../support/servers/program.ts';
import { createTasks, declaresTasks, type TaskRun, type Tasks, tasksExtension } from '../support/servers/tasks.ts';

/** The tools, prompts and resources that the conformance suite calls by name. */
export function createFixtureProgram(): Program {
  const tasks = createTasks((method, params) => program.announce(method, params));
  const program: Program = createProgram({
    info: { name: 'conformance-fixture', version: '1.0.0' },
    tools: [
      ...contentTools(),
      ...streamTools(),
      ...legacyInputTools(),
      ...inputRequiredTools(),
      ...statelessTools(() => program),
      ...schemaTools(),
      ...taskTools(tasks),
    ],
    resources: [
      {
        definition: resource('test://static-text', 'static-text', 'A fixed text', 'text/plain'),
        read: () => ({ mimeType: 'text/plain', text: 'This is the content of the static text resource.' }),
      },
      {
        definition: resource('test://static-binary', 'static-binary', 'A fixed image', 'image/png'),
        read: () => ({ mimeType: 'image/png', blob: redPixel }),
      },
      {
        definition: resource('test://watched-resource', 'watched-resource', 'One to subscribe to', 'text/plain'),
        read: () => ({ mimeType: 'text/plain', text: 'Watched.' }),
      },
    ],
    templates: [dataTemplate],
    prompts: prompts(),
    complete: (_, { value }) => ['paris', 'park', 'party'].filter((word) => word.startsWith(String(value))),
    methods: tasks.methods,
    extensions: { [tasksExtension]: {} },
  });
  return program;
}

const redPixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==';
const silence = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const image = { type: 'image', data: redPixel, mimeType: 'image/png' };

function resource(uri: string, name: string, description: string, mimeType: string) {
  return { uri, name, description, mimeType };
}

const dataTemplate: ResourceTemplate = {
  definition: {
    uriTemplate: 'test://template/{id}/data',
    name: 'template-data',
    description: 'Data by id',
    mimeType: 'application/json',
  },
  read(uri) {
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
    const data = { id, templateTest: true, data: `Data for ID: ${id}` };
    return id === undefined ? undefined : { mimeType: 'application/json', text: JSON.stringify(data) };
  },
};

function tool(name: string, call: Tool['call'], inputSchema: JsonObject = { type: 'object' }): Tool {
  return { definition: { name, description: `Conformance tool ${name}`, inputSchema }, call };
}

function contentTools(): Tool[] {
  const embedded = (uri: string, mimeType: string, text: string) => ({
    type: 'resource',
    resource: { uri, mimeType, text },
  });
  return [
    tool('test_simple_text', () => text('This is a simple text response for testing.')),
    tool('test_image_content', () => ({ content: [image] })),
    tool('test_audio_content', () => ({ content: [{ type: 'audio', data: silence, mimeType: 'audio/wav' }] })),
    tool('test_embedded_resource', () => ({
      content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
    })),
    tool('test_multiple_content_types', () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        image,
        embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ],
    })),
    tool('test_error_handling', () => ({
      ...text('This tool intentionally returns an error for testing'),
      isError: true,
    })),
  ];
}

function streamTools(): Tool[] {
  return [
    tool('test_tool_with_logging', async (exchange) => {
      for (const message of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        log(exchange, 'info', message);
        await sleep(50);
      }
      return text('Logged three messages.');
    }),
    tool('test_tool_with_progress', async (exchange) => {
      for (const done of [0, 50, 100]) {
        progress(exchange, done, 100);
        await sleep(50);
      }
      return text('Reported progress three times.');
    }),
    tool('test_reconnection', async (exchange) => {
      void exchange.pauseStream();
      await sleep(100);
      return text('Finished after the stream was closed.');
    }),
  ];
}

const answerOf = (answer: JsonObject) => `action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`;

function form(message: string, properties: JsonObject, required = Object.keys(properties)): InputRequest {
  return {
    method: 'elicitation/create',
    params: { message, requestedSchema: { type: 'object', properties, required } },
  };
}

function sampling(prompt: string, maxTokens = 100): InputRequest {
  const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
  return { method: 'sampling/createMessage', params: { messages, maxTokens } };
}

function legacyInputTools(): Tool[] {
  const eliciting = (name: string, request: InputRequest) =>
    tool(name, async (exchange) => {
      const { answer } = await exchange.ask({ answer: request });
      return text(`Elicitation completed: ${answerOf(answer)}`);
    });
  const argument = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] });
  const titled = (word: string) =>
    ['First', 'Second', 'Third'].map((nth, at) => ({ const: `value${at + 1}`, title: `${nth} ${word}` }));
  const untitled = ['option1', 'option2', 'option3'];

  return [
    tool(
      'test_sampling',
      async (exchange, { prompt }) => {
        const { answer } = await exchange.ask({ answer: sampling(String(prompt)) });
        return text(`LLM response: ${objectAt(answer, 'content').text}`);
      },
      argument('prompt'),
    ),
    tool(
      'test_elicitation',
      async (exchange, { message }) => {
        const request = form(String(message), {
          username: { type: 'string', description: "User's response" },
          email: { type: 'string', description: "User's email address" },
        });
        const { answer } = await exchange.ask({ answer: request });
        return text(`User response: ${answerOf(answer)}`);
      },
      argument('message'),
    ),
    eliciting(
      'test_elicitation_sep1034_defaults',
      form(
        'Please check these defaults',
        {
          name: { type: 'string', default: 'John Doe' },
          age: { type: 'integer', default: 30 },
          score: { type: 'number', default: 95.5 },
          status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
          verified: { type: 'boolean', default: true },
        },
        [],
      ),
    ),
    eliciting(
      'test_elicitation_sep1330_enums',
      form(
        'Please choose',
        {
          untitledSingle: { type: 'string', enum: untitled },
          titledSingle: { type: 'string', oneOf: titled('Option') },
          legacyEnum: {
            type: 'string',
            enum: ['opt1', 'opt2', 'opt3'],
            enumNames: ['Option One', 'Option Two', 'Option Three'],
          },
          untitledMulti: { type: 'array', items: { type: 'string', enum: untitled } },
          titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
        },
        [],
      ),
    ),
  ];
}

const stateKey = randomBytes(32);

/** `requestState` travels through the client, so it is signed and refused when changed. */
function sealState(state: string): string {
  return `${state}.${createHmac('sha256', stateKey).update(state).digest('base64url')}`;
}

function openState(sealed: string): string {
  const state = sealed.slice(0, sealed.lastIndexOf('.'));
  const expected = Buffer.from(sealState(state));
  const actual = Buffer.from(sealed);
  if (expected.length === actual.length && timingSafeEqual(expected, actual)) return state;
  throw new RpcError(errorCodes.invalidParams, 'requestState was changed');
}

const askName = form('What is your name?', { name: { type: 'string' } });
const nameIn = (answer: unknown) => objectAt(answer as JsonObject, 'content').name;

function inputRequiredTools(): Tool[] {
  const confirm = { confirm: form('Please confirm', { ok: { type: 'boolean' } }) };
  return [
    tool('test_input_required_result_elicitation', async (exchange) => {
      const { user_name } = await exchange.ask({ user_name: askName });
      return text(`Hello, ${nameIn(user_name)}!`);
    }),
    tool('test_input_required_result_sampling', async (exchange) => {
      const { capital_question } = await exchange.ask({
        capital_question: sampling('What is the capital of France?'),
      });
      return text(`The model said: ${JSON.stringify(capital_question.content)}`);
    }),
    tool('test_input_required_result_list_roots', async (exchange) => {
      const { client_roots } = await exchange.ask({ client_roots: { method: 'roots/list', params: {} } });
      return text(`Roots: ${JSON.stringify(client_roots.roots)}`);
    }),
    tool('test_input_required_result_request_state', async (exchange) => {
      await askWithState(exchange, confirm, 'confirm');
      return text('state-ok');
    }),
    tool('test_input_required_result_tampered_state', async (exchange) => {
      await askWithState(exchange, confirm, 'tamper-proof');
      return text('state-ok');
    }),
    tool('test_input_required_result_multiple_inputs', async (exchange) => {
      const requests: Record<string, InputRequest> = {
        user_name: askName,
        greeting: sampling('Generate a greeting', 50),
        client_roots: { method: 'roots/list', params: {} },
      };
      await askWithState(exchange, requests, 'multiple');
      return text(`Got ${Object.keys(requests).join(', ')}.`);
    }),
    tool('test_input_required_result_multi_round', async (exchange) => {
      const step1 = form('Step 1: What is your name?', { name: { type: 'string' } });
      const step2 = form('Step 2: What is your favorite color?', { color: { type: 'string' } });
      if (exchange.era === 'legacy') {
        await exchange.ask({ step1 });
        await exchange.ask({ step2 });
      } else {
        const round = exchange.requestState === undefined ? 0 : Number(openState(exchange.requestState));
        if (round === 0) throw new InputRequired({ step1 }, sealState('1'));
        if (round === 1) throw new InputRequired({ step2 }, sealState('2'));
      }
      return text('All rounds are done.');
    }),
    tool('test_input_required_result_capabilities', async (exchange) => {
      const { elicitation, sampling: canSample, roots } = exchange.session.clientCapabilities;
      const requests: Record<string, InputRequest> = {};
      if (elicitation) requests.user_name = askName;
      if (canSample) requests.greeting = sampling('Generate a greeting', 50);
      if (roots) requests.client_roots = { method: 'roots/list', params: {} };
      await exchange.ask(requests);
      return text('Nothing more to ask.');
    }),
  ];
}

/** Asks until every answer is there, on modern exchanges with a signed state that has to come back unchanged. */
async function askWithState(exchange: Exchange, requests: Record<string, InputRequest>, state: string): Promise<void> {
  if (exchange.era === 'modern') {
    requireClientCapabilities(exchange.session, Object.values(requests));
    const returned = exchange.requestState === undefined ? undefined : openState(exchange.requestState);
    if (returned !== state) throw new InputRequired(requests, sealState(state));
  }
  await exchange.ask(requests);
}

function statelessTools(program: () => Program): Tool[] {
  const appeared = tool('test_appeared', () => text('Here now.'));
  const appearedPrompt = prompt('test_appeared_prompt', [], () => userSays('Here now.'));
  return [
    tool('test_missing_capability', (exchange) => {
      requireClientCapabilities(exchange.session, [sampling('')]);
      return text('The client can sample.');
    }),
    tool('test_streaming_elicitation', async (exchange) => {
      const { user_name } = await exchange.ask({ user_name: askName });
      return text(`Hello, ${nameIn(user_name)}!`);
    }),
    tool('test_logging_tool', (exchange) => {
      log(exchange, 'info', 'Only for those who asked');
      return text('Done.');
    }),
    tool('test_trigger_tool_change', () => {
      const { tools, announce } = program();
      if (!tools.delete('test_appeared')) tools.set('test_appeared', appeared);
      announce('notifications/tools/list_changed');
      return text('Tools changed.');
    }),
    tool('test_trigger_prompt_change', () => {
      const { prompts, announce } = program();
      if (!prompts.delete('test_appeared_prompt')) prompts.set('test_appeared_prompt', appearedPrompt);
      announce('notifications/prompts/list_changed');
      return text('Prompts changed.');
    }),
  ];
}

function schemaTools(): Tool[] {
  return [
    tool('json_schema_2020_12_tool', () => text('Schema kept.'), {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, not a promise
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    }),
    tool('test_mirrored_header', (_, { region }) => text(`Region ${region}.`), {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      required: ['region'],
    }),
  ];
}

function taskTools(tasks: Tasks): Tool[] {
  /** A tool that becomes a task where the client can follow it, and otherwise just runs. */
  const taskable = (name: string, work: (run: TaskRun, args: JsonObject) => Promise<JsonObject>) =>
    tool(name, (exchange, args) => {
      if (declaresTasks(exchange)) return tasks.start(exchange, (run) => work(run, args));
      return work({ signal: exchange.signal, ask: exchange.ask }, args);
    });
  const taskOnly = (name: string, work: () => Promise<JsonObject>) =>
    tool(name, (exchange) => {
      if (!declaresTasks(exchange)) missingCapability({ extensions: { [tasksExtension]: {} } });
      return tasks.start(exchange, work);
    });
  const confirm = (message: string) => form(message, { confirm: { type: 'boolean' } });

  return [
    tool('greet', (_, { name }) => text(`Hello, ${name}!`)),
    taskable('slow_compute', async ({ signal }, { seconds }) => {
      await sleep(Number(seconds ?? 0) * 1000, undefined, { signal });
      return text('Computed.');
    }),
    taskable('confirm_delete', async (run, { filename }) => {
      const { confirmation } = await run.ask({ confirmation: confirm(`Delete ${filename}?`) });
      return text(`Deleted ${filename}: ${answerOf(confirmation)}`);
    }),
    taskable('multi_input', async (run) => {
      const { first, second } = await run.ask({ first: confirm('First?'), second: confirm('Second?') });
      return text(`${answerOf(first)}; ${answerOf(second)}`);
    }),
    taskOnly('failing_job', async () => {
      await sleep(1000);
      return { ...text('The job failed, as asked.'), isError: true };
    }),
    taskOnly('protocol_error_job', async () => {
      await sleep(100);
      throw new RpcError(-32603, 'The job broke');
    }),
    tool('test_tool_with_task', async (exchange) => {
      const { user_name } = await exchange.ask({ user_name: askName });
      if (!declaresTasks(exchange)) missingCapability({ extensions: { [tasksExtension]: {} } });
      return tasks.start(exchange, async () => text(`Hello, ${nameIn(user_name)}!`));
    }),
  ];
}

function prompt(name: string, args: string[], get: Prompt['get']): Prompt {
  const list = args.map((arg) => ({ name: arg, description: `Argument ${arg}`, required: true }));
  return { definition: { name, description: `Conformance prompt ${name}`, arguments: list }, get };
}

function userSays(...contents: (string | JsonObject)[]): JsonObject {
  const messages = contents.map((content) => ({
    role: 'user',
    content: typeof content === 'string' ? { type: 'text', text: content } : content,
  }));
  return { messages };
}

function prompts(): Prompt[] {
  return [
    prompt('test_simple_prompt', [], () => userSays('This is a simple prompt for testing.')),
    prompt('test_prompt_with_arguments', ['arg1', 'arg2'], (_, { arg1, arg2 }) =>
      userSays(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`),
    ),
    prompt('test_prompt_with_embedded_resource', ['resourceUri'], (_, { resourceUri }) =>
      userSays(
        {
          type: 'resource',
          resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        },
        'Please process the embedded resource above.',
      ),
    ),
    prompt('test_prompt_with_image', [], () => userSays(image, 'Please analyze the image above.')),
    prompt('test_input_required_result_prompt', [], async (exchange) => {
      const request = form('What context should the prompt use?', { context: { type: 'string' } });
      const { user_context } = await exchange.ask({ user_context: request });
      return userSays(`Use this context: ${objectAt(user_context, 'content').context}`);
    }),
  ];
}
