import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { errorCodes, type JsonObject, objectAt, RpcError, type RpcId } from './json-rpc.ts';

/** What a fixture server does, written once; the wires (stdio, SSE, Streamable HTTP) and eras carry it. */
export interface Program {
  readonly info: JsonObject & { name: string; version: string };
  readonly instructions: string | undefined;
  /** Random per program: two answers with the same id came from the same process. */
  readonly instanceId: string;
  readonly tools: Map<string, Tool>;
  readonly prompts: Map<string, Prompt>;
  readonly notices: EventEmitter<{ notice: [method: string, params: JsonObject] }>;
  capabilities(era: Era): JsonObject;
  handles(method: string): boolean;
  handle(exchange: Exchange): Promise<JsonObject>;
  announce(method: string, params?: JsonObject): void;
}

export type Era = 'legacy' | 'modern';

/** One request being answered. */
export interface Exchange {
  readonly id: RpcId;
  readonly era: Era;
  readonly method: string;
  readonly params: JsonObject;
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly inputResponses: JsonObject;
  readonly requestState: string | undefined;
  /** Sends a notification on this request's own stream. */
  notify(method: string, params: JsonObject): void;
  /**
   * Asks the client: real requests on legacy connections, an `input_required` round on modern ones. Requests can be
   * withdrawn.
   */
  ask<Key extends string>(
    requests: Record<Key, InputRequest>,
    withdrawn?: AbortSignal,
  ): Promise<Record<Key, JsonObject>>;
  /**
   * Ends this request's SSE stream while the call goes on, so that the client has to come back for the answer. Resolves
   * when it did; at once where there is no stream to come back to.
   */
  pauseStream(): Promise<void>;
  /** Breaks the connection without an answer. */
  hangUp(): void;
  /** Ends the whole server: the process on stdio, the listener on HTTP. */
  shutDown(): void;
}

export interface Session {
  readonly id: string;
  clientCapabilities: JsonObject;
  logLevel: string | undefined;
  readonly subscriptions: Set<string>;
}

export interface InputRequest {
  method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  params?: JsonObject;
}

/** Thrown by a modern exchange that needs the client's input; becomes an `input_required` result. */
export class InputRequired extends Error {
  readonly requests: Record<string, InputRequest>;
  readonly requestState: string | undefined;

  constructor(requests: Record<string, InputRequest>, requestState?: string) {
    super('input required');
    this.requests = requests;
    this.requestState = requestState;
  }
}

export interface Tool {
  definition: JsonObject & { name: string };
  call(exchange: Exchange, args: JsonObject): JsonObject | Promise<JsonObject>;
}

export interface Resource {
  definition: JsonObject & { uri: string };
  read(): JsonObject;
}

export interface ResourceTemplate {
  definition: JsonObject & { uriTemplate: string };
  /** The content for a URI of this template, or undefined when the URI is not one. */
  read(uri: string): JsonObject | undefined;
}

export interface Prompt {
  definition: JsonObject & { name: string };
  get(exchange: Exchange, args: JsonObject): JsonObject | Promise<JsonObject>;
}

export interface ProgramParts {
  info: JsonObject & { name: string; version: string };
  instructions?: string;
  tools: Tool[];
  resources?: Resource[];
  /** Readable without being listed, as resource links may be. */
  unlistedResources?: Resource[];
  templates?: ResourceTemplate[];
  prompts?: Prompt[];
  complete?(ref: JsonObject, argument: JsonObject): string[];
  pageSize?: number;
  /** Methods beyond the core ones, such as `tasks/get`. */
  methods?: Record<string, (exchange: Exchange) => JsonObject | Promise<JsonObject>>;
  extensions?: JsonObject;
  /** Instead of the usual ones. */
  capabilities?: JsonObject;
}

export function createProgram(parts: ProgramParts): Program {
  const tools = new Map(parts.tools.map((tool) => [tool.definition.name, tool]));
  const prompts = new Map((parts.prompts ?? []).map((prompt) => [prompt.definition.name, prompt]));
  const { resources = [], unlistedResources = [], templates = [], pageSize = Number.POSITIVE_INFINITY } = parts;
  const notices: Program['notices'] = new EventEmitter();
  notices.setMaxListeners(0);

  const listed = (key: string, items: () => Iterable<{ definition: JsonObject }>) => (exchange: Exchange) => {
    const definitions = Array.from(items(), (item) => item.definition);
    return page(key, definitions, exchange.params.cursor, pageSize);
  };

  const methods: Record<string, (exchange: Exchange) => JsonObject | Promise<JsonObject>> = {
    'tools/list': listed('tools', () => tools.values()),
    'prompts/list': listed('prompts', () => prompts.values()),
    'resources/list': listed('resources', () => resources),
    'resources/templates/list': listed('resourceTemplates', () => templates),
    'tools/call': (exchange) => {
      const tool = tools.get(String(exchange.params.name));
      if (!tool) throw new RpcError(errorCodes.invalidParams, `Unknown tool: ${exchange.params.name}`);
      return tool.call(exchange, objectAt(exchange.params, 'arguments'));
    },
    'prompts/get': (exchange) => {
      const prompt = prompts.get(String(exchange.params.name));
      if (!prompt) throw new RpcError(errorCodes.invalidParams, `Unknown prompt: ${exchange.params.name}`);
      return prompt.get(exchange, objectAt(exchange.params, 'arguments'));
    },
    'resources/read': (exchange) => {
      const uri = String(exchange.params.uri);
      const known = [...resources, ...unlistedResources].find((resource) => resource.definition.uri === uri);
      const content = known?.read() ?? firstDefined(templates, (template) => template.read(uri));
      // The code changed from -32002 to -32602 with 2026-07-28.
      if (!content) throw new RpcError(exchange.era === 'modern' ? -32602 : -32002, 'Resource not found', { uri });
      return { contents: [{ uri, ...content }] };
    },
    'completion/complete': (exchange) => {
      const values = parts.complete?.(objectAt(exchange.params, 'ref'), objectAt(exchange.params, 'argument')) ?? [];
      return { completion: { values, total: values.length, hasMore: false } };
    },
    ...parts.methods,
  };

  return {
    info: parts.info,
    instructions: parts.instructions,
    instanceId: randomUUID(),
    tools,
    prompts,
    notices,
    capabilities: () => ({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
      logging: {},
      ...(parts.extensions ? { extensions: parts.extensions } : {}),
      ...parts.capabilities,
    }),
    handles: (method) => Object.hasOwn(methods, method),
    async handle(exchange) {
      const handler = Object.hasOwn(methods, exchange.method) ? methods[exchange.method] : undefined;
      if (!handler) throw new RpcError(errorCodes.methodNotFound, `Method not found: ${exchange.method}`);
      return handler(exchange);
    },
    announce(method, params = {}) {
      notices.emit('notice', method, params);
    },
  };
}

function page(key: string, items: JsonObject[], cursor: unknown, pageSize: number): JsonObject {
  const start = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isInteger(start) || start < 0) throw new RpcError(errorCodes.invalidParams, `Unknown cursor: ${cursor}`);
  const end = start + pageSize;
  return { [key]: items.slice(start, end), ...(end < items.length ? { nextCursor: String(end) } : {}) };
}

function firstDefined<Item, Value>(items: Item[], find: (item: Item) => Value | undefined): Value | undefined {
  for (const item of items) {
    const value = find(item);
    if (value !== undefined) return value;
  }
  return undefined;
}

const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** A modern request without `logLevel` must get no log messages at all; a legacy session that set none gets every one. */
export function log(exchange: Exchange, level: string, data: unknown): void {
  const lowest = exchange.session.logLevel ?? (exchange.era === 'legacy' ? 'debug' : undefined);
  if (lowest === undefined || logLevels.indexOf(level) < logLevels.indexOf(lowest)) return;
  exchange.notify('notifications/message', { level, logger: 'fixture', data });
}

export function progress(exchange: Exchange, done: number, total: number, message?: string): void {
  const progressToken = objectAt(exchange.params, '_meta').progressToken;
  if (progressToken === undefined) return;
  exchange.notify('notifications/progress', { progressToken, progress: done, total, ...(message ? { message } : {}) });
}

const capabilityOf = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const;

/** A server must not ask for what the client did not declare. */
export function requireClientCapabilities(session: Session, requests: Iterable<InputRequest>): void {
  for (const { method } of requests) {
    const capability = capabilityOf[method];
    if (session.clientCapabilities[capability] === undefined) missingCapability({ [capability]: {} });
  }
}

export function missingCapability(requiredCapabilities: JsonObject): never {
  const names = Object.keys(requiredCapabilities).join(', ');
  throw new RpcError(errorCodes.missingClientCapability, `The client did not declare: ${names}`, {
    requiredCapabilities,
  });
}

export function text(value: string): JsonObject & { content: JsonObject[] } {
  return { content: [{ type: 'text', text: value }] };
}

export function structured(value: JsonObject): JsonObject {
  return { ...text(JSON.stringify(value)), structuredContent: value };
}
