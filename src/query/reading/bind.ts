/**
 * Arguments for a call: words from the question, handles from what was listed before or named in the question, dates and
 * choices by a parser. Whatever would have to be guessed makes the call impossible.
 */

import { stem } from '../../similarity/stem.ts';
import type { Question } from '../question/question.ts';
import { findClockTime, findZones } from '../question/zones.ts';
import type { Parameter } from '../strategy/parameters.ts';
import { nameWords } from '../strategy/read-only.ts';
import { everyValue, type Operation } from '../strategy/strategy.ts';
import { type DateChoice, dateChoices, dateValues, isDate } from './date-arguments.ts';
import type { Entry } from './entries.ts';
import { handleValues } from './handles.ts';

export type Arguments = Record<string, unknown>;

/** Where handles come from. */
export interface HandleSource {
  entry?: Entry;
  /** What the server can list: such things are chosen from the list, not named blindly. */
  listed?: ReadonlySet<string>;
  /** What tools of the server list or find. */
  produced?: ReadonlySet<string>;
  /** What the entries of the answer are, where they do not say so themselves. */
  noun?: string;
  /** Handles that led to the entry: the base of a table, the folder of a file. */
  scope: Readonly<Arguments>;
  /** Folders that the server is known to work in. */
  folders: readonly string[];
}

export interface Binding {
  arguments: Arguments;
  /** The arguments that say which thing is meant, inherited by what is found there. */
  scope: Arguments;
  /** What was filled in from the question by a parser: it counts as said of everything that comes back. */
  context: string;
  /** It names the thing at hand. */
  isOwn: boolean;
}

type Bound = { ok: true; bindings: Binding[] } | { ok: false; reason: string };

const maxBindings = 4;
const maxDated = 8;

/** `input` is what goes into the operation's own parameter: words or a statement. */
export function bindArguments(operation: Operation, question: Question, source: HandleSource, input?: string): Bound {
  const choices = operation.parameters.some(isDate) ? dateChoices(operation, question) : [undefined];
  const bound = choices.map((dates) => bindWith(operation, question, source, { input, dates }));
  const [first] = bound;
  if (first !== undefined && !first.ok) return first;
  const bindings = bound.flatMap((own) => (own.ok ? own.bindings.slice(0, choices.length > 1 ? 1 : undefined) : []));
  return { ok: true, bindings: distinct([...bindings, ...withoutPageSize(operation, bindings)]).slice(0, maxDated) };
}

interface Given {
  input?: string;
  dates?: DateChoice;
}

function bindWith(operation: Operation, question: Question, source: HandleSource, given: Given): Bound {
  let bindings: Binding[] = [{ arguments: {}, scope: {}, context: '', isOwn: false }];
  for (const parameter of operation.parameters) {
    const values = valuesFor(parameter, operation, question, source, given);
    if (values.length === 0) {
      if (!parameter.isRequired || parameter.default !== undefined) continue;
      return { ok: false, reason: `required parameter "${parameter.name}" cannot be filled` };
    }
    const alternatives = parameter.isRequired || values[0]?.isOwn === true ? values : values.slice(0, 1);
    bindings = bindings
      .flatMap((binding) => alternatives.map((value) => withValue(binding, parameter, value)))
      .slice(0, maxBindings);
  }
  return { ok: true, bindings };
}

function withoutPageSize({ parameters }: Operation, [first]: readonly Binding[]): Binding[] {
  const limit = parameters.find(
    ({ role, isRequired, maximum }) => role.kind === 'limit' && !isRequired && maximum === undefined,
  );
  if (limit === undefined || first?.arguments[limit.name] === undefined) return [];
  const { [limit.name]: _size, ...args } = first.arguments;
  return [{ ...first, arguments: args }];
}

function distinct(bindings: readonly Binding[]): Binding[] {
  return [...new Map(bindings.map((binding) => [JSON.stringify(binding.arguments), binding])).values()];
}

export interface ArgumentValue {
  value: unknown;
  isHandle?: boolean;
  /** From the thing at hand: other values are other spellings of it. */
  isOwn?: boolean;
  context?: string;
}

function withValue(binding: Binding, parameter: Parameter, given: ArgumentValue): Binding {
  const { value, isHandle, isOwn = false, context = '' } = given;
  const wrapped = parameter.wrappedIn === undefined ? value : { [parameter.wrappedIn]: value };
  const sent = parameter.isList && !Array.isArray(value) ? [wrapped] : value;
  return {
    arguments: { ...binding.arguments, [parameter.name]: sent },
    scope: isHandle === true ? { ...binding.scope, [parameter.name]: value } : binding.scope,
    context: context === '' ? binding.context : `${binding.context} ${context}`,
    isOwn: binding.isOwn || isOwn,
  };
}

function inputValues(parameter: Parameter, input: string | undefined): ArgumentValue[] {
  if (input === undefined) return [];
  const text =
    parameter.maxLength === undefined || input.length <= parameter.maxLength
      ? input
      : atWord(input, parameter.maxLength);
  // A server's pattern is not run here: one that is demanded cannot be checked cheaply.
  return text.length < (parameter.minLength ?? 0) || parameter.hasPattern ? [] : [{ value: text }];
}

function atWord(text: string, max: number): string {
  const end = text.lastIndexOf(' ', max);
  return text.slice(0, end > max / 2 ? end : max).trim();
}

function valuesFor(
  parameter: Parameter,
  operation: Operation,
  question: Question,
  source: HandleSource,
  { input, dates }: Given,
): ArgumentValue[] {
  const { role } = parameter;
  const preset = operation.preset[parameter.name];
  // What a value of a choice selects is what it is called.
  if (preset !== undefined) return [{ value: preset, context: nameWords(String(preset)).join(' ') }];
  if (parameter.name === operation.input?.name) return inputValues(parameter, input);
  switch (role.kind) {
    case 'handle':
      return handleValues(parameter, operation, question, source);
    case 'date':
      return dates === undefined ? [] : dateValues(parameter, dates, operation);
    case 'choice':
      return choiceValues(parameter, role.values, question);
    case 'flag':
      return flagValues(parameter, operation, question);
    case 'fixed':
      return parameter.isRequired ? [{ value: role.value }] : [];
    case 'limit':
      return limitValues(parameter);
    case 'page':
      return parameter.isRequired ? [{ value: typed(parameter, Math.max(1, parameter.minimum ?? 1)) }] : [];
    case 'offset':
      return parameter.isRequired ? [{ value: typed(parameter, parameter.minimum ?? 0) }] : [];
    case 'zone':
      return parameter.isRequired || asksForTime(question) ? zoneValues(role.side, question) : [];
    case 'time': {
      const found = findClockTime(question.text);
      return found === undefined ? [] : [{ value: found.time, context: 'time' }];
    }
    case 'words':
      // A second parameter for words gets the same question.
      return parameter.isRequired && role.isMeant ? inputValues(parameter, question.text) : [];
    default:
      return contextLines(parameter, operation);
  }
}

const shownLines = 2;
const wholeChars = 50_000;

/** A line that holds a word says more with its neighbours. */
function contextLines({ name, type, isRequired, maximum }: Parameter, { kind }: Operation): ArgumentValue[] {
  const isLines = /^(?:context|context lines|lines of context|surrounding lines)$/.test(nameWords(name).join(' '));
  if (kind === 'search' && isLines && !isRequired && (type === 'number' || type === 'integer'))
    return [{ value: shownLines }];
  // What is read is read as a whole where the tool lets us.
  const isLength =
    /^max (?:length|chars|characters)$/.test(nameWords(name).join(' ')) && (type === 'number' || type === 'integer');
  return kind === 'read' && isLength ? [{ value: Math.min(wholeChars, maximum ?? wholeChars) }] : [];
}

const typed = ({ type }: Parameter, value: number): unknown => (type === 'string' ? String(value) : value);

function choiceValues(parameter: Parameter, values: readonly unknown[], question: Question): ArgumentValue[] {
  if (values.length === 1) return parameter.isRequired ? [{ value: values[0] }] : [];
  const stems = new Set(question.words.map(stem));
  const named = values.filter((value) => {
    const words = typeof value === 'string' ? nameWords(value) : [];
    return words.length > 0 && words.every((word) => stems.has(stem(word)) && word.length > 2);
  });
  if (named.length === 1) return [{ value: named[0], context: String(named[0]) }];
  if (!parameter.isRequired || parameter.default !== undefined) return [];
  const every = values.find((value) => typeof value === 'string' && everyValue.has(value.toLowerCase()));
  return every === undefined ? [] : [{ value: every }];
}

const wideFlags =
  /^(?:recursive|deep|(?:include|with|return) (?:the )?(?:full )?(?:content|contents|body|text)|full (?:content|text)|extract text)$/;

function flagValues(parameter: Parameter, { kind, style }: Operation, question: Question): ArgumentValue[] {
  const words = nameWords(parameter.name);
  const name = words.join(' ');
  if (kind !== 'report' && wideFlags.test(name)) return [{ value: true }];
  if (kind === 'search' && /^(?:is )?case sensitive$|^match case$/.test(name)) return [{ value: false }];
  if (kind === 'search' && /^(?:ignore case|case insensitive|insensitive)$/.test(name)) return [{ value: true }];
  if (style === 'regex' && /^(?:is |use |enable )?(?:regex|regexp|regular expression)$/.test(name))
    return [{ value: true }];
  if (!parameter.isRequired || parameter.default !== undefined) return [];
  const stems = new Set(question.words.map(stem));
  return words.every((word) => stems.has(stem(word))) ? [{ value: true }] : [];
}

const fullPage = 50;

/** A larger page saves calls. Where a server does not take it after all, the call is repeated without. */
function limitValues(parameter: Parameter): ArgumentValue[] {
  const { maximum = fullPage, minimum = 1, default: usual } = parameter;
  const wanted = Math.max(minimum, Math.min(maximum, fullPage));
  return typeof usual === 'number' && usual >= wanted ? [] : [{ value: typed(parameter, wanted) }];
}

/** A place in a question about something else is no time zone. */
const asksForTime = ({ words }: Question): boolean =>
  words.some((word) => word === 'time' || word === 'clock' || word === 'timezone');

function zoneValues(side: 'source' | 'target', question: Question): ArgumentValue[] {
  const zones = findZones(question.text);
  const time = findClockTime(question.text);
  if (time === undefined || zones.length < 2) {
    const [only] = zones;
    return only === undefined ? [] : [{ value: only.zone, context: `${only.zone} current time now` }];
  }
  // "9:00 in Berlin": the place next to the clock time is where it is that late.
  const source = zones.toSorted((a, b) => Math.abs(a.at - time.at) - Math.abs(b.at - time.at) || b.at - a.at)[0];
  const chosen = side === 'source' ? source : zones.find((other) => other !== source);
  return chosen === undefined ? [] : [{ value: chosen.zone, context: chosen.zone }];
}
