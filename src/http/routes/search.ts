/** `POST /api/v1/search` and `/api/v1/skills`: finding tools, and the categories that help. */
import { z } from 'zod';
import type { Catalog, CatalogTool } from '../../catalog/catalog.ts';
import { seesNamed } from '../../catalog/view.ts';
import { AppError } from '../../errors.ts';
import { isObject } from '../../json-rpc.ts';
import { statuses } from '../../registry/lifecycle.ts';
import type { SearchAttribution } from '../../routing/search-attribution.ts';
import { hasQuery, missingQuery, searchInput, toSearchText } from '../../search/search-input.ts';
import type { SearchableTool } from '../../search/tool.ts';
import type { ToolSearch } from '../../search/tool-search.ts';
import type { Audit } from '../../security/audit.ts';
import { isBound } from '../../security/policy.ts';
import { type SkillStore, skillDefinition, skillId } from '../../skills/skill-store.ts';
import { type AnyRoute, route, type Viewer } from '../route.ts';

export interface SearchRouteDependencies {
  catalog: Catalog;
  toolSearch: ToolSearch;
  searchAttribution: SearchAttribution;
  skillStore: SkillStore;
  audit: Audit;
}

const threshold = z.number().min(0).max(1);
const searchBody = z
  .strictObject({
    ...searchInput,
    item_type: z.enum(['tool']).optional(),
    include_external: z.boolean().default(true).describe('false: only the tools of the aggregator itself'),
    server_filter: z.array(z.string().min(1)).max(1_000).nullish(),
    limit: z.int().min(1).max(100).default(10),
    skill_threshold: threshold.default(0.4),
    tool_threshold: threshold
      .default(0.3)
      .describe('minimum score; tools below it are left out, so the result may be empty'),
    include_schemas: z.boolean().default(true),
    include_reasons: z.boolean().default(false),
    strategy: z.enum(['hierarchical', 'direct', 'lexical', 'auto']).default('hierarchical'),
  })
  .refine(hasQuery, missingQuery);

const sourceServer = z.object({ id: z.string(), name: z.string(), status: z.enum(statuses) });
const foundTool = z.object({
  id: z.string(),
  db_id: z.int(),
  type: z.literal('tool'),
  name: z.string(),
  original_name: z.string(),
  description: z.string(),
  score: z.number(),
  skill_ids: z.array(z.string()),
  primary_skill_id: z.string().nullable(),
  source_server: sourceServer.nullable(),
  input_schema: z.record(z.string(), z.unknown()).optional(),
  alternatives: z.array(z.object({ name: z.string(), source_server: sourceServer })).optional(),
  steps: z
    .array(z.int())
    .optional()
    .describe(
      'With `queries`: the positions of the steps that the tool is for, from 0; empty if only `query` found it',
    ),
  reasons: z
    .object({ matched_words: z.array(z.string()), similarity: z.number().nullable(), skills: z.array(z.string()) })
    .optional(),
});
const skillView = skillDefinition.extend({ id: z.string(), tool_count: z.int() });
const round = (value: number) => Math.round(value * 10_000) / 10_000;

export function searchRoutes({
  catalog,
  toolSearch,
  searchAttribution,
  skillStore,
  audit,
}: SearchRouteDependencies): AnyRoute[] {
  const toSource = ({ server }: CatalogTool) => ({ id: server.id, name: server.name, status: server.lifecycle.status });
  const toSkillView = (id: string, { principal, view }: Viewer) => {
    const skill = skillStore.find(id);
    if (skill === undefined) throw new AppError('NOT_FOUND', `Skill not found: ${id}`);
    const hasSkill = (tool: CatalogTool) => tool.row.skill_ids.includes(id) && view.tool(tool);
    const count = isBound(principal) ? catalog.snapshot.tools.filter(hasSkill).length : toolSearch.toolsOfSkill(id);
    return { ...skill, tool_count: count };
  };

  return [
    route({
      method: 'POST',
      path: '/api/v1/search',
      tag: 'search',
      summary: 'Search for tools that fit a task',
      role: 'viewer',
      body: searchBody,
      answers: {
        200: {
          description:
            'Tools, best match first; with `queries` the best of each step first, then the second of each. Empty if no tool fits',
          schema: z.object({
            query: z.string().optional(),
            tools: z.array(foundTool),
            steps: z
              .array(z.object({ query: z.string(), tools: z.array(z.string()) }))
              .optional()
              .describe('With `queries`: the names of the tools for each step, best first; empty if no tool fits it'),
            matched_skills: z.array(z.object({ id: z.string(), name: z.string(), score: z.number() })),
            metadata: z.looseObject({
              strategy_used: z.string(),
              servers_searched: z.int(),
              external_tools_count: z.int(),
              total_time_ms: z.number(),
            }),
          }),
        },
      },
      async handle({ body, principal, view, signal, trace }) {
        const byName = catalog.snapshot.toolsByCanonicalName;
        const found = await toolSearch.search(
          {
            query: body.query,
            queries: body.queries,
            limit: body.limit,
            skillThreshold: body.skill_threshold,
            toolThreshold: body.tool_threshold,
            strategy: body.strategy,
            serverFilter: body.server_filter,
            includeExternal: body.include_external,
            includeReasons: body.include_reasons,
            isVisible: principal.servers === null && principal.profile === null ? undefined : seesNamed(view, catalog),
          },
          signal,
          trace,
        );
        searchAttribution.searched(
          principal.id,
          toSearchText(body),
          found.tools.map(({ tool, alternatives = [] }) => [tool.name, ...alternatives.map(({ name }) => name)]),
        );
        return {
          query: body.query,
          ...(found.steps === undefined
            ? {}
            : { steps: found.steps.map(({ query, tools }) => ({ query, tools: tools.map(({ name }) => name) })) }),
          tools: found.tools.flatMap(({ tool: hit, score, reasons, alternatives, steps }) => {
            const { name } = hit;
            const tool = byName.get(name);
            const forSteps = steps === undefined ? {} : { steps };
            if (!hit.isExternal) return { ...toInternalView(hit, score, body.include_schemas), ...forSteps };
            if (tool === undefined) return [];
            const { row } = tool;
            const others = (alternatives ?? []).flatMap((other) => byName.get(other.name) ?? []);
            return {
              id: String(row.id),
              db_id: row.id,
              type: 'tool',
              name,
              original_name: row.original_name,
              description: row.description ?? '',
              score: round(score),
              skill_ids: row.skill_ids,
              primary_skill_id: row.primary_skill_id,
              source_server: toSource(tool),
              ...forSteps,
              ...(body.include_schemas ? { input_schema: row.input_schema } : {}),
              ...(others.length === 0
                ? {}
                : { alternatives: others.map((other) => ({ name: other.row.name, source_server: toSource(other) })) }),
              ...(reasons === undefined
                ? {}
                : {
                    reasons: {
                      matched_words: reasons.matchedWords,
                      similarity: reasons.similarity === null ? null : round(reasons.similarity),
                      skills: reasons.skills,
                    },
                  }),
            };
          }),
          matched_skills: found.matchedSkills.map((skill) => ({ ...skill, score: round(skill.score) })),
          metadata: {
            strategy_used: found.metadata.strategyUsed,
            servers_searched: found.metadata.serversSearched,
            external_tools_count: found.metadata.externalToolsCount,
            total_time_ms: round(found.metadata.totalTimeMs),
            embedding_model: found.metadata.embeddingModel,
            ...(found.metadata.parts.length === 0 ? {} : { parts: found.metadata.parts }),
            ...(found.metadata.warnings.length === 0 ? {} : { warnings: found.metadata.warnings }),
          },
        };
      },
    }),

    route({
      method: 'GET',
      path: '/api/v1/search/quality',
      tag: 'search',
      summary: 'List tools that search cannot distinguish or find by their own description',
      role: 'viewer',
      answers: { 200: { description: 'The findings', schema: z.looseObject({}) } },
      async handle({ view }) {
        const { withoutDescription, indistinct, notFound, servers } = await toolSearch.quality();
        const isSeen = seesNamed(view, catalog);
        return {
          without_description: withoutDescription.filter(isSeen).map(({ name }) => name),
          indistinct: indistinct
            .filter(({ a, b }) => isSeen(a) && isSeen(b))
            .map(({ a, b, similarity }) => ({ tools: [a.name, b.name], similarity: round(similarity) })),
          not_found_by_own_description: notFound
            .filter(({ tool }) => isSeen(tool))
            .map(({ tool, insteadOf }) => ({
              tool: tool.name,
              found_instead: insteadOf !== null && isSeen({ name: insteadOf }) ? insteadOf : null,
            })),
          servers: servers
            .filter(({ server }) => view.server(server))
            .map(({ server, tools, probes, hitAt1, hitAt5 }) => ({
              server,
              tools,
              probes,
              hit_at_1: round(hitAt1),
              hit_at_5: round(hitAt5),
            })),
        };
      },
    }),

    route({
      method: 'GET',
      path: '/api/v1/skills',
      tag: 'skills',
      summary: 'List skills',
      role: 'viewer',
      answers: {
        200: {
          description: 'The skills, sorted by ID',
          schema: z.object({ skills: z.array(skillView), total: z.int() }),
        },
      },
      handle({ principal, view }) {
        const skills = skillStore.list().map(({ id }) => toSkillView(id, { principal, view }));
        return { skills, total: skills.length };
      },
    }),

    route({
      method: 'GET',
      path: '/api/v1/skills/{id}',
      tag: 'skills',
      summary: 'Get a skill',
      role: 'viewer',
      params: z.object({ id: skillId }),
      answers: { 200: { description: 'The skill', schema: skillView }, 404: { description: 'Skill not found' } },
      handle: ({ params, principal, view }) => toSkillView(params.id, { principal, view }),
    }),

    route({
      method: 'PUT',
      path: '/api/v1/skills/{id}',
      tag: 'skills',
      summary: 'Add or change a skill; tools are classified again',
      role: 'admin',
      unbound: true,
      params: z.object({ id: skillId }),
      body: skillDefinition,
      answers: { 200: { description: 'Changed', schema: skillView }, 201: { description: 'Added', schema: skillView } },
      async handle({ params, body, principal, view, address, reply }) {
        const { created } = await skillStore.save({ ...body, id: params.id });
        await audit.recordNow({
          event: 'skill.saved',
          actor: principal.name,
          ip_address: address,
          details: { skill: params.id },
        });
        if (created) reply.status(201);
        return toSkillView(params.id, { principal, view });
      },
    }),

    route({
      method: 'DELETE',
      path: '/api/v1/skills/{id}',
      tag: 'skills',
      summary: 'Remove a skill; its tools are classified again',
      role: 'admin',
      unbound: true,
      params: z.object({ id: skillId }),
      answers: { 204: { description: 'Removed' }, 404: { description: 'Skill not found' } },
      async handle({ params, principal, address, reply }) {
        if (!(await skillStore.remove(params.id))) throw new AppError('NOT_FOUND', `Skill not found: ${params.id}`);
        await audit.recordNow({
          event: 'skill.removed',
          actor: principal.name,
          ip_address: address,
          details: { skill: params.id },
        });
        reply.status(204);
      },
    }),
  ];
}

/** A tool of the aggregator itself: no server, no skills. */
function toInternalView({ id, name, description, inputSchema }: SearchableTool, score: number, withSchema: boolean) {
  return {
    id: name,
    db_id: id,
    type: 'tool' as const,
    name,
    original_name: name,
    description,
    score: round(score),
    skill_ids: [],
    primary_skill_id: null,
    source_server: null,
    ...(withSchema && isObject(inputSchema) ? { input_schema: inputSchema } : {}),
  };
}
