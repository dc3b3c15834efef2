/** The fixture's program behind the official SDK's server classes, which speak both eras on one address. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  inputRequired,
  isLegacyRequest,
  ProtocolError,
  type InputRequest as SdkInputRequest,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { listenLocally, type RunningServer, readJson } from '../support/servers/http-wire.ts';
import { isObject, type JsonObject, RpcError } from '../support/servers/json-rpc.ts';
import { type Exchange, type InputRequest, InputRequired, type Program } from '../support/servers/program.ts';
import { tasksExtension } from '../support/servers/tasks.ts';
import { createFixtureProgram } from './fixture-program.ts';

export function startSdkServer(program = createFixtureProgram()): Promise<RunningServer> {
  return listenLocally('/mcp', 0, () => {
    const modern = createMcpHandler(() => createServer(program, 'modern'), { legacy: 'reject' });
    const legacy = createLegacySessions(program);
    const handleModern = toNodeHandler(modern);
    forwardChanges(program, modern.bus.publish.bind(modern.bus));
    return {
      async handle(request, response) {
        const body = request.method === 'POST' ? await readJson(request).catch(() => undefined) : undefined;
        const probe = await toWebRequest(request, body);
        if (await isLegacyRequest(probe)) return await legacy.handle(request, response, body);
        await handleModern(request, response, body);
      },
      async close() {
        await legacy.close();
        await modern.close();
      },
    };
  });
}

const listChanges = {
  'notifications/tools/list_changed': 'tools_list_changed',
  'notifications/prompts/list_changed': 'prompts_list_changed',
  'notifications/resources/list_changed': 'resources_list_changed',
} as const;

function forwardChanges(
  program: Program,
  publish: (event: { kind: (typeof listChanges)[keyof typeof listChanges] }) => void,
) {
  program.notices.on('notice', (method) => {
    if (Object.hasOwn(listChanges, method)) publish({ kind: listChanges[method as keyof typeof listChanges] });
  });
}

/** Sessions as the SDK's examples make them: a transport and a server each. */
function createLegacySessions(program: Program) {
  const transports = new Map<string, NodeStreamableHTTPServerTransport>();

  async function open(): Promise<NodeStreamableHTTPServerTransport> {
    const server = createServer(program, 'legacy');
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      retryInterval: 100,
      onsessioninitialized: (id) => void transports.set(id, transport),
      onsessionclosed: (id) => void transports.delete(id),
    });
    const relay = (method: string, params: JsonObject) => void server.notification({ method, params }).catch(() => {});
    program.notices.on('notice', relay);
    server.onclose = () => void program.notices.off('notice', relay);
    await server.connect(transport);
    return transport;
  }

  return {
    async handle(request: IncomingMessage, response: ServerResponse, body: unknown) {
      const id = request.headers['mcp-session-id'];
      const known = typeof id === 'string' ? transports.get(id) : undefined;
      if (known === undefined && id !== undefined) return void response.writeHead(404).end();
      await (known ?? (await open())).handleRequest(request, response, body);
    },
    close: async () => void (await Promise.all([...transports.values()].map((transport) => transport.close()))),
  };
}

function createEventStore() {
  const events: { streamId: string; id: string; message: unknown }[] = [];
  return {
    async storeEvent(streamId: string, message: unknown) {
      const id = String(events.length);
      events.push({ streamId, id, message });
      return id;
    },
    getStreamIdForEventId: async (id: string) => events[Number(id)]?.streamId,
    async replayEventsAfter(last: string, { send }: { send(id: string, message: never): Promise<void> }) {
      const streamId = events[Number(last)]?.streamId ?? '';
      for (const event of events.slice(Number(last) + 1)) {
        if (event.streamId === streamId && isObject(event.message) && Object.keys(event.message).length > 0) {
          await send(event.id, event.message as never);
        }
      }
      return streamId;
    },
  };
}

const coreMethods = [
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
] as const;
const taskMethods = ['tasks/get', 'tasks/update', 'tasks/cancel'];
const skillMethods = ['skills/list', 'skills/get'];

function createServer(program: Program, era: 'legacy' | 'modern'): Server {
  const { extensions, ...capabilities } = program.capabilities(era);
  const { [tasksExtension]: tasks, ...others } = isObject(extensions) ? extensions : {};
  const offered = { ...others, ...(era === 'modern' && tasks !== undefined ? { [tasksExtension]: tasks } : {}) };
  const server = new Server(program.info, {
    instructions: program.instructions,
    capabilities: { ...capabilities, extensions: offered as Record<string, object> as Record<string, never> },
  });
  const subscriptions = new Set<string>();
  const answer = async (method: string, params: JsonObject, context: ServerContext) => {
    try {
      return await program.handle(createExchange({ server, era, method, params, context, subscriptions }));
    } catch (error) {
      if (error instanceof InputRequired) {
        const inputRequests = error.requests as unknown as Record<string, SdkInputRequest>;
        return inputRequired({ inputRequests, requestState: error.requestState });
      }
      if (error instanceof RpcError) throw new ProtocolError(error.code, error.message, error.data);
      throw error;
    }
  };
  for (const method of coreMethods) {
    server.setRequestHandler(method, ({ params }, context) => answer(method, { ...params }, context) as never);
  }
  for (const method of [...(era === 'modern' ? taskMethods : []), ...skillMethods]) {
    if (!program.handles(method)) continue;
    server.setRequestHandler(method, { params: z.looseObject({}) }, (params, context) =>
      answer(method, params as JsonObject, context),
    );
  }
  if (era === 'modern') return server;
  server.setRequestHandler('resources/subscribe', ({ params }) => {
    subscriptions.add(params.uri);
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    subscriptions.delete(params.uri);
    return {};
  });
  return server;
}

interface Asked {
  server: Server;
  era: 'legacy' | 'modern';
  method: string;
  params: JsonObject;
  context: ServerContext;
  subscriptions: Set<string>;
}

function createExchange({ server, era, method, params, context, subscriptions }: Asked): Exchange {
  const { mcpReq, http } = context;
  const envelope = (mcpReq.envelope ?? {}) as JsonObject;
  const inputResponses = (mcpReq.inputResponses ?? {}) as JsonObject;
  const clientCapabilities = (
    era === 'modern' ? envelope['io.modelcontextprotocol/clientCapabilities'] : server.getClientCapabilities()
  ) as JsonObject;
  return {
    id: mcpReq.id,
    era,
    method,
    // Also of `tasks/update`, whose params they are.
    params: { ...params, ...(mcpReq.inputResponses && { inputResponses }), _meta: mcpReq._meta ?? {} },
    session: { id: context.sessionId ?? 'stateless', clientCapabilities, logLevel: 'debug', subscriptions },
    signal: mcpReq.signal,
    inputResponses,
    requestState: mcpReq.requestState<string>(),
    notify(method, params) {
      // The SDK knows the level that the client asked for.
      if (method === 'notifications/message') return void mcpReq.log(params.level as 'info', params.data);
      void mcpReq.notify({ method, params });
    },
    async ask<Key extends string>(requests: Record<Key, InputRequest>) {
      const answers: Partial<Record<Key, JsonObject>> = {};
      for (const key in requests) {
        const answer =
          era === 'modern' ? inputResponses[key] : await mcpReq.send(requests[key] as { method: 'roots/list' });
        if (!isObject(answer)) throw new InputRequired(requests);
        answers[key] = answer;
      }
      return answers as Record<Key, JsonObject>; // every key was filled by the loop
    },
    pauseStream: async () => http?.closeSSE?.(),
    hangUp: () => undefined,
    shutDown: () => undefined,
  };
}
