/** What a server wrote, which processes it runs and what happened to it. */
import { z } from 'zod';
import type { Registry } from '../../registry/registry.ts';
import type { Database } from '../../store/database.ts';
import { findHistory } from '../../store/history.ts';
import type { Pool } from '../../upstream/pool.ts';
import { residentMemory } from '../../upstream/process-memory.ts';
import type { OutputLog } from '../output-log.ts';
import { type AnyRoute, route } from '../route.ts';
import { byServer, serverNotFound, serversPath } from '../server-route.ts';
import { lookUpServer } from '../view.ts';

export interface ServerDiagnosticsRouteDependencies {
  db: Database;
  registry: Registry;
  pool: Pool;
  outputLog: OutputLog;
}

const tag = 'servers';

export function serverDiagnosticsRoutes(deps: ServerDiagnosticsRouteDependencies): AnyRoute[] {
  const { db, registry, pool, outputLog } = deps;

  return [
    route({
      method: 'GET',
      path: `${serversPath}/{id}/output`,
      tag,
      summary: 'Get the latest lines that a STDIO server wrote to stderr, as seen by this process',
      role: 'viewer',
      params: byServer,
      query: z.strictObject({ after: z.coerce.number().int().min(0).default(0).describe('only lines after this one') }),
      answers: {
        200: {
          description: 'The lines, oldest first; secrets are masked',
          schema: z.object({ lines: z.array(z.object({ seq: z.int(), at: z.string(), text: z.string() })) }),
        },
        404: serverNotFound,
      },
      handle: ({ params, query, view }) => ({
        lines: outputLog.lines(lookUpServer(registry, view, params.id).id, query.after),
      }),
    }),

    route({
      method: 'GET',
      path: `${serversPath}/{id}/processes`,
      tag,
      summary: 'List the processes of a STDIO server with their memory, as seen by this process',
      role: 'viewer',
      params: byServer,
      answers: {
        200: {
          description: 'The processes that were started for the server',
          schema: z.object({
            processes: z.array(
              z.object({
                pid: z.int(),
                memory_bytes: z.int().nullable().describe('resident, with its children; null where unknown'),
              }),
            ),
          }),
        },
        404: serverNotFound,
      },
      async handle({ params, view }) {
        const pids = pool.link(lookUpServer(registry, view, params.id).id)?.childPids ?? [];
        const sizes = await Promise.all(pids.map((pid) => residentMemory(pid)));
        return { processes: pids.map((pid, place) => ({ pid, memory_bytes: sizes[place] ?? null })) };
      },
    }),

    route({
      method: 'GET',
      path: `${serversPath}/{id}/history`,
      tag,
      summary: 'List the history of a server, newest first',
      role: 'viewer',
      params: byServer,
      query: z.strictObject({
        limit: z.coerce.number().int().min(1).max(1_000).default(100),
        before: z.coerce.number().int().min(1).optional().describe('the ID of the last entry of the previous page'),
      }),
      answers: {
        200: {
          description: 'Status changes, discoveries, changed tools, errors',
          schema: z.object({
            history: z.array(
              z.object({
                id: z.int(),
                event_type: z.string(),
                details: z.record(z.string(), z.unknown()).nullable(),
                timestamp: z.string(),
              }),
            ),
          }),
        },
        404: serverNotFound,
      },
      async handle({ params, query, view }) {
        const server = lookUpServer(registry, view, params.id);
        await registry.settled();
        const rows = await findHistory(db, server.id, query);
        return { history: rows.map(({ server_id: _server, ...entry }) => entry) };
      },
    }),
  ];
}
