/** One thing that can be asked of a server, and how promising it is. */
import type { Question } from '../question/question.ts';
import type { RelevanceMeter } from '../question/relevance.ts';
import type { Operation, Strategy, StrategyResource, StrategyTemplate } from '../strategy/strategy.ts';
import { type Arguments, type Binding, bindArguments, type HandleSource } from './bind.ts';
import { classOf } from './handles.ts';
import type { ServerKnowledge, WordForm } from './knowledge.ts';
import type { Nearness } from './sql.ts';

export interface Step {
  /** The same for the same call: nothing is asked twice. */
  key: string;
  priority: number;
  target: StepTarget;
  /** Handles that led here; what is found inherits them. */
  scope: Arguments;
  /** What is known of the answer before it comes: the path of a file, the date that was filled in. */
  context: string;
  /** Calls on the way here. */
  depth: number;
  /** Which spelling of its handle this is. */
  spelling: number;
  /** Other spellings, tried when this one fails. */
  others: readonly Binding[];
  /** Names of what is read, in the order sent. */
  titles: readonly string[];
  /** The words that were sent, and in which form. */
  input?: { text: string; form: WordForm };
  /** The tool whose answer named what is read here. */
  from?: string;
  /** The question named a date, a place or a choice that the tool takes: it is what the tool is for. */
  isParsed: boolean;
  /** It counts or adds up. */
  isAggregate: boolean;
  /** A model thought of it. */
  isPlanned: boolean;
}

export type StepTarget =
  | { kind: 'tool'; operation: Operation; arguments: Arguments; purpose: 'answer' | 'schema' }
  | { kind: 'resource'; resource: StrategyResource }
  | { kind: 'completion'; template: StrategyTemplate; variable: string; value: string; filled: Filled };

/** Variables of a template that have a value. */
export type Filled = Readonly<Record<string, string>>;

/** What is known before anything is asked. */
export interface Planner {
  strategy: Strategy;
  question: Question;
  meter: RelevanceMeter;
  near: Nearness;
  /** How well each operation fits the question, 0 to 1, by its key. */
  fits: ReadonlyMap<string, number>;
  folders: readonly string[];
  knowledge: ServerKnowledge;
  /** The server's own names: what it holds is about them. */
  about: string;
  /** Calls that a model thought of, checked. */
  planned: readonly { tool: string; arguments: Arguments }[];
}

export const priorities = {
  planned: 120,
  named: 100,
  search: 90,
  sql: 88,
  report: 80,
  list: 75,
  resource: 70,
  retry: 68,
  /** What promises less is exploration. */
  worthwhile: 60,
  page: 58,
  collection: 55,
  unfitting: 50,
  read: 45,
};

/** A tool that fits the question this well is called for itself. */
export const fittingTool = 0.35;
/** A name that fits the question this well is looked into first. */
export const fittingLabel = 0.18;

type StepDetails = Partial<
  Pick<Step, 'depth' | 'context' | 'spelling' | 'others' | 'titles' | 'input' | 'isAggregate' | 'isPlanned'>
> & {
  priority: number;
  scope?: Readonly<Arguments>;
};

export function toolStep(operation: Operation, binding: Binding, details: StepDetails): Step {
  const { scope = {}, context = '', ...rest } = details;
  const takes = (kind: string): boolean => operation.parameters.some(({ role }) => role.kind === kind);
  return {
    depth: 0,
    spelling: 0,
    others: [],
    titles: [],
    isAggregate: false,
    isPlanned: false,
    ...rest,
    key: `${operation.tool} ${JSON.stringify(binding.arguments)}`,
    target: { kind: 'tool', operation, arguments: binding.arguments, purpose: 'answer' },
    scope: { ...scope, ...binding.scope },
    context: `${context} ${binding.context}`.trim(),
    isParsed: binding.context !== '' && (takes('date') || takes('zone') || takes('choice')),
  };
}

/** A call with what the source gives, in the spelling that worked before; none where a parameter cannot be filled. */
export function callSteps(
  { question, knowledge }: Planner,
  operation: Operation,
  source: HandleSource,
  details: StepDetails,
): Step[] {
  const bound = bindArguments(operation, question, source);
  if (!bound.ok) return [];
  const known = source.entry === undefined ? 0 : knowledge.tool(operation.tool).spelling;
  const spelling = known < bound.bindings.length ? known : 0;
  const [first, ...others] = [...bound.bindings.slice(spelling), ...bound.bindings.slice(0, spelling)];
  return first === undefined ? [] : [toolStep(operation, first, { ...details, spelling, others, scope: source.scope })];
}

/** What the server can list is chosen from the list, not named blindly. */
export function sourceWithoutHandle({ folders, strategy }: Planner): HandleSource {
  return { scope: {}, folders, listed: nounsOf(strategy).listed };
}

interface Nouns {
  /** What a tool lists without being told anything. */
  listed: ReadonlySet<string>;
  /** What any tool lists or finds. */
  produced: ReadonlySet<string>;
}

const knownNouns = new WeakMap<Strategy, Nouns>();

export function nounsOf(strategy: Strategy): Nouns {
  const known = knownNouns.get(strategy);
  if (known !== undefined) return known;
  const named = strategy.operations.filter(({ noun }) => noun !== '');
  const producers = named.filter(({ kind }) => kind === 'list' || kind === 'search');
  const lists = producers.filter(({ kind, needs }) => kind === 'list' && needs.length === 0);
  const toClasses = (operations: readonly Operation[]) => new Set(operations.map(({ noun }) => classOf(noun)));
  const nouns = { listed: toClasses(lists), produced: toClasses(producers) };
  knownNouns.set(strategy, nouns);
  return nouns;
}

/** The next spelling of a handle that failed, or the next reading of a date. */
export function retryStep(step: Step, priority = Math.min(step.priority, priorities.retry)): Step | undefined {
  const [next, ...others] = step.others;
  if (next === undefined || step.target.kind !== 'tool') return undefined;
  const { operation } = step.target;
  const retried = toolStep(operation, next, {
    ...step,
    spelling: (step.spelling + 1) % (step.others.length + 1),
    others,
    priority,
  });
  return { ...retried, ...(step.from === undefined ? {} : { from: step.from }) };
}

export function pageStep(step: Step, operation: Operation, args: Arguments): Step {
  return {
    ...step,
    key: `${operation.tool} ${JSON.stringify(args)}`,
    target: { kind: 'tool', operation, arguments: args, purpose: 'answer' },
    priority: Math.min(step.priority - 1, priorities.page),
    others: [],
  };
}

/** The tool, or the method for resources and completions. */
export function nameOfStep({ target }: Step): string {
  if (target.kind === 'tool') return target.operation.tool;
  return target.kind === 'resource' ? 'resources/read' : 'completion/complete';
}

/** The handles that an operation needs: tools with the same can stand for one another. */
export function signatureOf({ needs }: Operation): string {
  const parts = needs.map(({ role }) => (role.kind === 'handle' ? `${role.attribute}:${role.noun}` : ''));
  return parts.sort().join(' ');
}

/** A search of what things say, not only of their names. */
export const searchesContents = (operation: Operation): boolean =>
  operation.kind === 'search' &&
  operation.needs.length === 0 &&
  !isPoor(operation) &&
  operation.style !== 'name' &&
  operation.style !== 'glob';

const poorPreference = -3;
export const isPoor = ({ preference }: Operation): boolean => preference <= poorPreference;

/** Of several tools that do the same with the same, one: what sees everything before what sees a part. */
export function preferredOf(operations: readonly Operation[]): Operation[] {
  const value = ({ isWhole, preference }: Operation): number => preference + (isWhole ? 3 : 0);
  const best = new Set<Operation>();
  const alike = Map.groupBy(operations, (operation) => {
    const { kind, noun, key, preset } = operation;
    const chosen = Object.values(preset).join(' ');
    return kind === 'list' || kind === 'search'
      ? `${kind} ${signatureOf(operation)} ${noun} ${chosen}`
      : `${kind} ${key}`;
  });
  for (const group of alike.values()) best.add(group.reduce((a, b) => (value(b) > value(a) ? b : a)));
  const hasSearch = operations.some((operation) => operation.kind === 'search' && !isPoor(operation));
  const hasTree = operations.some(({ kind, isWhole, needs }) => kind === 'list' && isWhole && needs.length > 0);
  return operations.filter((operation) => {
    if (!best.has(operation) || (operation.kind === 'search' && isPoor(operation) && hasSearch)) return false;
    // Names are known where the whole tree is.
    return !(operation.style === 'glob' && hasTree);
  });
}
