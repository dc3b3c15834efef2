/** `POST /api/v1/tools/call`: a tool call without an MCP client. */

import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Catalog } from '../../catalog/catalog.ts';
import type { JsonObject } from '../../json-rpc.ts';
import { memberOf, RawResult, type Result } from '../../raw-result.ts';
import type { Registry } from '../../registry/registry.ts';
import { type Call, toDirectCaller } from '../../routing/call.ts';
import { resolveTool } from '../../routing/resolve.ts';
import type { Router } from '../../routing/router.ts';
import { type AnyRoute, route } from '../route.ts';
import { lookUpServer } from '../view.ts';

/** The gateway's own tools, which the MCP module provides. */
interface InternalToolCalls {
  has(name: string): boolean;
  call(call: Call): Promise<JsonObject>;
}

export interface ToolRouteDependencies {
  internalTools: InternalToolCalls;
  registry: Registry;
  catalog: Catalog;
  router: Router;
}

const milliseconds = (value: number) => Math.round(value * 1_000) / 1_000;

export function toolRoutes({ registry, catalog, router, internalTools }: ToolRouteDependencies): AnyRoute[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/tools/call',
      tag: 'tools',
      summary: 'Call a tool',
      role: 'caller',
      body: z.strictObject({
        name: z
          .string()
          .min(1)
          .describe(
            'canonical name (server.tool), MCP name, unambiguous short name, or a tool of the aggregator itself',
          ),
        arguments: z.record(z.string(), z.unknown()).default({}),
        server_id: z.string().optional().describe('the id or name of the server that has the tool'),
      }),
      answers: {
        200: {
          description: 'The result of the server, with routing metadata',
          schema: z.looseObject({
            content: z.array(z.unknown()),
            isError: z.boolean(),
            metadata: z.looseObject({
              routed_to: z.string(),
              server_id: z.string().nullable().describe('null for a tool of the aggregator itself'),
              routing_time_ms: z.number(),
              execution_time_ms: z.number(),
              total_time_ms: z.number(),
              warning: z.string().optional(),
            }),
          }),
        },
        400: { description: 'Several servers have a tool with this name' },
        404: { description: 'Tool not found' },
        409: { description: 'An admin disabled the tool, or a change of it waits for approval' },
        499: { description: 'The call was cancelled' },
        500: { description: 'The server was removed while the call waited' },
        502: { description: 'The server returned an error' },
        503: { description: 'The server is unavailable or overloaded' },
        504: { description: 'The server did not respond in time' },
      },
      async handle({ body, principal, view, address, requestId, receivedAt, trace, note, signal }) {
        const started = performance.now();
        const { name, server_id: id } = body;
        const call: Call = {
          method: 'tools/call',
          params: { name, arguments: body.arguments },
          caller: toDirectCaller({ principal, address, searcher: principal.id }),
          requestId,
          receivedAt,
          trace,
          signal,
        };
        if (id === undefined && internalTools.has(name)) {
          note({ tool: name });
          const result = await internalTools.call(call);
          return toInternalAnswer(name, result, milliseconds(performance.now() - started));
        }
        const server = id === undefined ? undefined : lookUpServer(registry, view, id);
        const { tool, strategy } = resolveTool(catalog.snapshot, { name, server, view });
        note({ server: tool.server.name, tool: tool.row.name });
        // A progress token lets the server report progress, which extends the deadline.
        const params = { ...call.params, _meta: { progressToken: randomUUID() } };
        const called = await router.callTool({ ...call, params, server: tool.server, tool });
        const { warning, routingMs, executionMs } = called;
        return withMetadata(called.result, {
          routed_to: tool.server.name,
          server_id: tool.server.id,
          tool: tool.row.name,
          strategy,
          routing_time_ms: milliseconds(routingMs),
          execution_time_ms: milliseconds(executionMs),
          total_time_ms: milliseconds(performance.now() - started),
          ...(warning === undefined ? {} : { warning }),
        });
      },
    }),
  ];
}

function toInternalAnswer(tool: string, result: JsonObject, ms: number) {
  return withMetadata(result, {
    routed_to: 'mcp-aggregator',
    server_id: null,
    tool,
    strategy: 'INTERNAL',
    routing_time_ms: 0,
    execution_time_ms: ms,
    total_time_ms: ms,
  });
}

/** A result that was not read goes out as it came. */
function withMetadata(result: Result, metadata: object): Result {
  const isError = memberOf(result, 'isError') === true;
  if (!(result instanceof RawResult)) return { ...result, content: result.content ?? [], isError, metadata };
  const given = result.bytes('content');
  const content = given === undefined || given.equals(nothing) ? { content: '[]' } : {};
  return result.withChanges({ ...content, isError: String(isError), metadata: JSON.stringify(metadata) });
}

const nothing = Buffer.from('null');
