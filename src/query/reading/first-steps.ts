/** What a server is asked at the beginning, worked out from its strategy and the question. Pure. */
import type { Question } from '../question/question.ts';
import type { Operation } from '../strategy/strategy.ts';
import { bindArguments } from './bind.ts';
import { classOf } from './handles.ts';
import { isNamesOnly } from './knowledge.ts';
import { resourceSteps, templateSteps } from './resource-steps.ts';
import { searchSteps } from './search-steps.ts';
import { schemaStatements, statementsFor, type Table } from './sql.ts';
import {
  callSteps,
  fittingTool,
  isPoor,
  type Planner,
  preferredOf,
  priorities,
  type Step,
  searchesContents,
  sourceWithoutHandle,
  toolStep,
} from './step.ts';

/** In slices: a server may have a thousand tools. */
export function* workOutFirstSteps(planner: Planner, now: number): Generator<void, Step[]> {
  const tables = planner.knowledge.tables(now);
  const operations = preferredOf(planner.strategy.operations);
  yield;
  const aside = lessFitting(planner, operations);
  const ofTools: Step[] = [];
  for (const operation of operations) {
    yield;
    const steps = stepsOf(planner, operation, tables, now);
    const drop = aside.has(operation) ? asideDrop : 0;
    for (const step of steps) ofTools.push(drop === 0 ? step : { ...step, priority: step.priority - drop });
  }
  return [...plannedSteps(planner), ...ofTools, ...resourceSteps(planner), ...templateSteps(planner)];
}

const maxOfKind = 5;
const asideDrop = 32;

/** A server with dozens of lists and searches is asked by those that fit the question best; the others explore. */
function lessFitting(planner: Planner, operations: readonly Operation[]): ReadonlySet<Operation> {
  const ofKind = (kind: Operation['kind']): Operation[] =>
    operations
      .filter((operation) => operation.kind === kind && operation.needs.length === 0 && !isKey(operation, operations))
      .toSorted((a, b) => fitOf(planner, b) - fitOf(planner, a) || b.preference - a.preference)
      .slice(maxOfKind);
  return new Set([...ofKind('search'), ...ofKind('list')]);
}

/** What a model thought of comes first. */
function plannedSteps({ strategy, planned }: Planner): Step[] {
  return planned.flatMap(({ tool, arguments: args }, place) => {
    const operation = strategy.operations.find((candidate) => candidate.tool === tool);
    if (operation === undefined) return [];
    const binding = { arguments: args, scope: {}, context: '', isOwn: false };
    return [toolStep(operation, binding, { priority: priorities.planned - place, isPlanned: true })];
  });
}

function stepsOf(planner: Planner, operation: Operation, tables: readonly Table[] | undefined, now: number): Step[] {
  const source = sourceWithoutHandle(planner);
  switch (operation.kind) {
    case 'search':
      return searchSteps(planner, operation, source, { rung: 0 });
    case 'report':
      return reportSteps(planner, operation);
    case 'list':
      return listSteps(planner, operation, now);
    case 'read':
      return callSteps(planner, operation, source, { priority: priorities.named }).map((step) =>
        withDoubt(step, planner.question),
      );
    case 'sql':
      return tables === undefined ? schemaSteps(planner, operation) : statementSteps(planner, operation, tables);
  }
}

/** A list that is known need not be asked for again; where contents are searched, what fits less can wait. */
function listSteps(planner: Planner, operation: Operation, now: number): Step[] {
  const fit = fitOf(planner, operation);
  if (fit < fittingTool && (isPoor(operation) || secret.test(operation.about))) return [];
  const { operations } = planner.strategy;
  const canWait = operations.some(searchesContents) && fit < fittingTool && !isKey(operation, operations);
  const usual = canWait ? priorities.unfitting + 10 * fit : priorities.list;
  const steps = callSteps(planner, operation, sourceWithoutHandle(planner), {
    priority: usual + (operation.isWhole ? 2 : 0),
  });
  const known = planner.knowledge
    .listings(now)
    .filter((listing) => listing.tool === operation.tool && listing.isAll && isNamesOnly(listing));
  return steps.filter(
    ({ target }) =>
      target.kind !== 'tool' ||
      !known.some((listing) => JSON.stringify(listing.arguments) === JSON.stringify(target.arguments)),
  );
}

const minUsers = 3;

/** What it lists must be known before most other tools can be called: the organisations of a tracker, the bases of tables. */
function isKey({ noun, tool }: Operation, operations: readonly Operation[]): boolean {
  if (noun === '') return false;
  const users = usersOf(operations).get(classOf(noun));
  return users !== undefined && users.size - Number(users.has(tool)) >= minUsers;
}

const knownUsers = new WeakMap<readonly Operation[], ReadonlyMap<string, ReadonlySet<string>>>();

/** By what they need a handle of: the tools. */
function usersOf(operations: readonly Operation[]): ReadonlyMap<string, ReadonlySet<string>> {
  const known = knownUsers.get(operations);
  if (known !== undefined) return known;
  const users = new Map<string, Set<string>>();
  for (const { tool, needs } of operations) {
    for (const { role } of needs) {
      if (role.kind !== 'handle' || role.noun === '') continue;
      const named = classOf(role.noun);
      users.set(named, (users.get(named) ?? new Set()).add(tool));
    }
  }
  knownUsers.set(operations, users);
  return users;
}

/** What the question names is asked for first; what was only tried, when there is nothing better to do. */
function withDoubt(step: Step, { repositories, identifiers, paths }: Question): Step {
  const isTold = repositories.length + identifiers.length + paths.length > 0;
  const hasMany = step.target.kind === 'tool' && step.target.operation.needs.length > 1;
  const isGuess = step.context === '' || (hasMany && !isTold);
  return isGuess ? { ...step, priority: priorities.unfitting } : step;
}

const fitOf = ({ fits }: Planner, { key }: Operation): number => fits.get(key) ?? 0;

const parsedRoles = new Set(['zone', 'time', 'choice', 'date']);
/** Nobody's secrets are read by the way, nor what is not text. */
const secret = /\b(?:env|environment variables?|secrets?|credentials?|passwords?|tokens?)\b/i;
const notText = /\b(?:image|audio)\b/i;

/** A tool without parameters is called where it fits the question, or where the question filled in what it asks for. */
function reportSteps(planner: Planner, operation: Operation): Step[] {
  const { parameters, preset, isWhole, needs, preference, about } = operation;
  const fit = fitOf(planner, operation);
  const isParsed = parameters.some(
    ({ name, role, isRequired }) => isRequired && parsedRoles.has(role.kind) && preset[name] === undefined,
  );
  const isFitting = fit >= fittingTool || isParsed;
  if (!isFitting && (secret.test(about) || notText.test(about))) return [];
  // Of a server with many tools, one that has nothing to do with the question is left alone.
  if (!isFitting && fit < strayFit && planner.strategy.operations.length > fewOperations) return [];
  const isEverything = isWhole && needs.length === 0 && preference > 0;
  const priority = isEverything ? priorities.list : isFitting ? priorities.report + 10 * fit : priorities.unfitting;
  return callSteps(planner, operation, sourceWithoutHandle(planner), { priority });
}

const strayFit = 0.1;
const fewOperations = 8;

function schemaSteps(planner: Planner, operation: Operation): Step[] {
  return schemaStatements.flatMap((sql, place) =>
    statementStep(planner, operation, sql, { priority: priorities.sql - place }).map((step) =>
      step.target.kind === 'tool' ? { ...step, target: { ...step.target, purpose: 'schema' as const } } : step,
    ),
  );
}

export function statementSteps(planner: Planner, operation: Operation, tables: readonly Table[]): Step[] {
  return statementsFor(tables, planner.question, planner.near).flatMap(({ sql, context, isAggregate }, place) =>
    statementStep(planner, operation, sql, { priority: priorities.sql - place, depth: 1, context, isAggregate }),
  );
}

function statementStep(
  planner: Planner,
  operation: Operation,
  sql: string,
  details: Parameters<typeof toolStep>[2],
): Step[] {
  const bound = bindArguments(operation, planner.question, sourceWithoutHandle(planner), sql);
  const [binding] = bound.ok ? bound.bindings : [];
  return binding === undefined ? [] : [toolStep(operation, binding, details)];
}
