/** `GET /api/v1/aggregator/stats`: calls over time, by server, tool or client. */
import { z } from 'zod';
import type { Catalog } from '../../catalog/catalog.ts';
import { seesNamed } from '../../catalog/view.ts';
import { AppError, ValidationError } from '../../errors.ts';
import type { Registry } from '../../registry/registry.ts';
import { isBound } from '../../security/policy.ts';
import { type Cells, sumCells, toPoints, toTotals } from '../../statistics/series.ts';
import { type Dimension, fromClientKey, others, type Statistics } from '../../statistics/statistics.ts';
import { maxPoints, slotSeconds, type TimeRange, toTimeRange } from '../../statistics/time-range.ts';
import { type AnyRoute, route, type Viewer } from '../route.ts';
import { lookUpServer } from '../view.ts';

export interface StatsRouteDependencies {
  statistics: Statistics;
  registry: Registry;
  catalog: Catalog;
}

const totals = {
  calls: z.int(),
  failed: z.int().describe('not answered by the server: unavailable, timed out, refused'),
  tool_errors: z.int().describe('answered by the tool with an error'),
  cancelled: z.int(),
  calls_per_second: z.number(),
  mean_ms: z.number().nullable(),
  p50_ms: z.number().nullable(),
  p95_ms: z.number().nullable(),
  max_ms: z.number().nullable(),
};

const points = z.object({
  calls: z.array(z.int()),
  failed: z.array(z.int()),
  tool_errors: z.array(z.int()),
  p50_ms: z.array(z.number().nullable()),
  p95_ms: z.array(z.number().nullable()),
});

const statsView = z.object({
  from: z.string().describe('where the first point begins'),
  to: z.string().describe('where the last point ends'),
  step: z.int().describe('seconds between points; at least as asked for, more where details are no longer kept'),
  complete_until: z.string().describe('later points are still counting'),
  total: z.object({ ...totals, points }),
  series: z
    .array(
      z.object({
        ...totals,
        server: z.string().optional(),
        tool: z.string().optional(),
        principal: z.string().optional(),
        client: z.string().nullish().describe('the name that an MCP client gives itself; null for REST'),
        points,
      }),
    )
    .optional()
    .describe('with `by`: the busiest first'),
  tokens: z
    .object({
      lists: z.object({ times: z.int(), before: z.int(), after: z.int() }),
      queries: z.object({ times: z.int(), before: z.int(), after: z.int() }),
      saved: z.int(),
    })
    .optional()
    .describe('tokens of tool lists and of results before and after; not for tokens that are limited'),
});

const query = z.strictObject({
  from: z.iso.datetime({ offset: true }).optional().describe('15 minutes ago if not given'),
  to: z.iso.datetime({ offset: true }).optional().describe('now if not given'),
  step: z.coerce.number().int().min(slotSeconds).max(86_400).optional().describe('seconds'),
  by: z.enum(['server', 'tool', 'client']).optional(),
  server: z.string().min(1).optional().describe('only calls to this server, by id or name'),
  tool: z.string().min(1).optional().describe('only calls of this tool, by its canonical name'),
  limit: z.coerce.number().int().min(1).max(500).default(20).describe('how many series'),
});
type Query = z.infer<typeof query>;

const defaultSeconds = 900;

export function statsRoutes({ statistics, registry, catalog }: StatsRouteDependencies): AnyRoute[] {
  /** Which counts answer the question, and which of them may be seen. */
  function select({ by, server: wanted, tool }: Query, { principal, view }: Viewer) {
    if (by === 'client' && isBound(principal))
      throw new AppError('FORBIDDEN', `${principal.name} is limited to servers or a profile and cannot see clients`);
    if (by === 'client' && (wanted ?? tool) !== undefined)
      throw invalid('by', 'client cannot be combined with server or tool');
    const server = wanted === undefined ? undefined : lookUpServer(registry, view, wanted);
    const seesTool = seesNamed(view, catalog);
    const sees: Record<Dimension, (key: string) => boolean> = {
      client: () => true,
      server: (id) => (server === undefined ? seesServer(id) : server.id === id),
      tool: (name) =>
        (server === undefined || name.startsWith(`${server.name}.`)) &&
        (tool === undefined || tool === name) &&
        (isBound(principal) ? seesTool({ name }) : true),
    };
    function seesServer(id: string): boolean {
      const name = registry.find(id)?.name;
      // Calls to a server that was removed still count, for those who see all servers.
      return name === undefined ? !isBound(principal) : view.server(name);
    }
    // With a profile, only some tools of a server may be seen.
    const needsTools = tool !== undefined || by === 'tool' || principal.profile !== null;
    const dimension: Dimension = by === 'client' ? 'client' : needsTools ? 'tool' : 'server';
    return { dimension, sees: sees[dimension] };
  }

  function labelOf(dimension: Dimension, key: string) {
    if (dimension === 'client') return fromClientKey(key);
    if (dimension === 'server') return { server: registry.find(key)?.name };
    const at = key.indexOf('.');
    return { server: key.slice(0, at), tool: key };
  }

  /** With a profile, the tools of a server stand for it. */
  function groupByServer(entries: [string, Cells][], length: number): [string, Cells][] {
    const groups = new Map<string, Cells[]>();
    for (const [name, cells] of entries) {
      const id = registry.findByName(name.slice(0, name.indexOf('.')))?.id ?? others;
      groups.set(id, [...(groups.get(id) ?? []), cells]);
    }
    return [...groups].map(([id, all]) => [id, sumCells(all, length)]);
  }

  async function tokensOf(range: TimeRange) {
    const counts = await statistics.tokens(range);
    const [lists, queries] = (['list', 'query'] as const).map(
      (by) => counts.get(by) ?? { times: 0, before: 0, after: 0 },
    ) as [typeof none, typeof none];
    return { lists, queries, saved: Math.max(0, lists.before + queries.before - lists.after - queries.after) };
  }

  return [
    route({
      method: 'GET',
      path: '/api/v1/aggregator/stats',
      tag: 'state',
      summary: 'Get calls over time: rates, errors and latency, by server, tool or client, of all replicas',
      role: 'viewer',
      query,
      answers: { 200: { description: 'One point per step, oldest first', schema: statsView } },
      async handle({ query: asked, principal, view }) {
        const now = Date.now() / 1_000;
        const range = toRange(asked, now);
        const length = (range.to - range.from) / range.step;
        const passed = Math.min(now, range.to) - range.from;
        const { dimension, sees } = select(asked, { principal, view });
        const all = [...(await statistics.calls(dimension, range))].filter(([key]) => sees(key));
        const sum = sumCells(
          all.map(([, cells]) => cells),
          length,
        );
        const isGrouped = asked.by === 'server' && dimension === 'tool';
        const entries = isGrouped ? groupByServer(all, length) : all;
        const series = entries
          .filter(([key]) => key !== others)
          .map(([key, cells]) => ({
            ...labelOf(isGrouped ? 'server' : dimension, key),
            ...toTotals(cells, passed),
            points: toPoints(cells),
          }))
          .sort((a, b) => b.calls - a.calls)
          .slice(0, asked.limit);
        const isWhole = !isBound(principal) && asked.server === undefined && asked.tool === undefined;
        return {
          from: toTime(range.from),
          to: toTime(range.to),
          step: range.step,
          complete_until: toTime(Math.min(range.to, Math.floor(now / range.step) * range.step)),
          total: { ...toTotals(sum, passed), points: toPoints(sum) },
          ...(asked.by === undefined ? {} : { series }),
          ...(isWhole ? { tokens: await tokensOf(range) } : {}),
        };
      },
    }),
  ];
}

const none = { times: 0, before: 0, after: 0 };

function toRange({ from, to, step }: Query, now: number): TimeRange {
  const end = to === undefined ? now : Date.parse(to) / 1_000;
  const begin = from === undefined ? end - defaultSeconds : Date.parse(from) / 1_000;
  if (begin >= end) throw invalid('from', 'must be before to');
  if (end > now + 86_400) throw invalid('to', 'must not be in the future');
  const range = toTimeRange({ from: begin, to: end, step }, now);
  const count = (range.to - range.from) / range.step;
  if (count > maxPoints)
    throw invalid('step', `gives ${count} points, at most ${maxPoints} are allowed; choose a larger step`);
  return range;
}

function invalid(field: string, problem: string): ValidationError {
  return new ValidationError([{ loc: ['query', field], msg: problem, type: 'value_error' }]);
}

const toTime = (seconds: number) => new Date(seconds * 1_000).toISOString();
