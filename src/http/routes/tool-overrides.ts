/** What an admin decides about single tools: off, another name, another description, fixed or hidden arguments. */
import { z } from 'zod';
import type { Catalog, CatalogTool } from '../../catalog/catalog.ts';
import { matchesPattern } from '../../catalog/name-pattern.ts';
import type { View } from '../../catalog/view.ts';
import { AppError, type Problem, ValidationError } from '../../errors.ts';
import { isObject } from '../../json-rpc.ts';
import type { Registry, Server } from '../../registry/registry.ts';
import { isPattern, type ToolOverridePatch, toolOverridePatch } from '../../registry/tool-overrides.ts';
import type { Audit } from '../../security/audit.ts';
import { requireUnbound } from '../../security/policy.ts';
import { didYouMean } from '../../suggestions.ts';
import { type AnyRoute, route } from '../route.ts';
import { recordServerEvent } from '../server-route.ts';
import { lookUpServer } from '../view.ts';
import { toolListView, toToolView } from '../views.ts';

export interface ToolOverrideRouteDependencies {
  registry: Registry;
  catalog: Catalog;
  audit: Audit;
}

export function toolOverrideRoutes({ registry, catalog, audit }: ToolOverrideRouteDependencies): AnyRoute[] {
  const toolsOf = (server: Server) => catalog.snapshot.everyToolByServer.get(server.id) ?? [];

  function lookUpTool(server: Server, name: string, view: View): CatalogTool {
    const tool = toolsOf(server).find(
      ({ row, ownName }) => row.original_name === name || row.name === name || ownName === name,
    );
    if (tool !== undefined && view.tool(tool)) return tool;
    const near = toolsOf(server).flatMap((one) => (view.tool(one) ? [one.ownName] : []));
    throw new AppError('TOOL_NOT_FOUND', `Tool not found: ${name}${didYouMean(name, near)}`, {
      context: { server: server.name },
    });
  }

  return [
    route({
      method: 'PATCH',
      path: '/api/v1/aggregator/servers/{id}/tools/{tool}',
      tag: 'servers',
      summary: 'Enable, disable, rename or redescribe a tool, or fix or hide its arguments',
      role: 'admin',
      params: z.object({
        id: z.string().min(1).describe("the server's id or name"),
        tool: z.string().min(1).max(1_000).describe('name of the tool; "*" matches any characters'),
      }),
      body: toolOverridePatch,
      answers: {
        200: { description: 'The tools that the change is about', schema: toolListView.pick({ tools: true }) },
        404: { description: 'The server or the tool was not found' },
      },
      async handle({ params, body, principal, view, address }) {
        const server = lookUpServer(registry, view, params.id);
        const name = isPattern(params.tool) ? params.tool : lookUpTool(server, params.tool, view).row.original_name;
        // It may match tools that the profile does not select.
        if (isPattern(name) && principal.profile !== null) requireUnbound(principal, 'Changing tools by a pattern');
        const problems = findProblems(name, body, toolsOf(server));
        if (problems.length > 0) throw new ValidationError(problems);
        await registry.overrideTool(server.id, name, body);
        const details = { tool: name, ...body };
        await recordServerEvent(audit, 'tool.updated', server, { principal, address }, details);
        const concerned = isPattern(name)
          ? toolsOf(server).filter(({ row }) => matchesPattern(name, row.original_name))
          : [lookUpTool(server, name, view)];
        return { tools: concerned.filter(view.tool).map((tool) => toToolView(tool, catalog.changes)) };
      },
    }),
  ];
}

/** What the schema alone cannot tell. */
function findProblems(name: string, patch: ToolOverridePatch, tools: readonly CatalogTool[]): Problem[] {
  const problem = (field: string, msg: string): Problem => ({ loc: ['body', field], msg, type: 'value_error' });
  const { enabled: _enabled, ...others } = patch;
  if (isPattern(name)) {
    return Object.keys(others).map((field) => problem(field, 'can be set for one tool only, not for a name with "*"'));
  }
  const problems: Problem[] = [];
  const tool = tools.find(({ row }) => row.original_name === name);
  const { rename } = patch;
  const other = tools.find(
    ({ row, ownName }) => row.original_name !== name && [row.original_name, ownName].includes(rename ?? ''),
  );
  if (other !== undefined) problems.push(problem('rename', `${rename} is the name of another tool of this server`));
  const override = { ...tool?.override, ...patch };
  const required = tool?.listed.input_schema.required;
  const fixed = isObject(override.fixed_arguments) ? override.fixed_arguments : {};
  for (const argument of patch.hidden_arguments ?? []) {
    if (!Array.isArray(required) || !required.includes(argument) || argument in fixed) continue;
    problems.push(problem('hidden_arguments', `the tool requires ${argument}; fix its value in fixed_arguments`));
  }
  return problems;
}
