/** What the things that an answer lists can be asked next: read, searched, listed themselves. Pure. */
import type { Operation, Strategy } from '../strategy/strategy.ts';
import { type Arguments, type Binding, bindArguments, type HandleSource } from './bind.ts';
import { type Entry, titleOf } from './entries.ts';
import { classOf } from './handles.ts';
import type { KnownListing } from './knowledge.ts';
import { resourceStep } from './resource-steps.ts';
import { searchSteps } from './search-steps.ts';
import {
  callSteps,
  fittingLabel,
  fittingTool,
  isPoor,
  nounsOf,
  type Planner,
  preferredOf,
  priorities,
  type Step,
  signatureOf,
  toolStep,
} from './step.ts';

interface FoundEntries {
  entries: readonly Entry[];
  /** The tool that listed them. */
  operation: Operation;
  scope: Arguments;
  depth: number;
  /** What is known of all of them: the room of a message, the base of a table. */
  context: string;
  /** They answer a search: each of them is worth more than one of a list. */
  isHit: boolean;
  /** There are no others. */
  isAll: boolean;
}

interface EntryChoice {
  entry: Entry;
  fit: number;
}

const maxDepth = 4;

export function stepsFrom(planner: Planner, found: FoundEntries): Step[] {
  if (found.entries.length === 0 || found.depth >= maxDepth) return [];
  const ranked = found.entries
    .map((entry, place) => ({ entry, place, fit: planner.meter.fit(entry.label) }))
    .toSorted((a, b) => b.fit - a.fit || a.place - b.place);
  const takers = takersOf(planner, found).map((operation) => {
    const isBatch = operation.needs.some(({ isList }) => isList);
    const max = found.isHit ? maxHits : isBatch ? maxBatched : maxListed(planner.strategy);
    const usable = takeUsable(planner, operation, found, ranked, Math.max(max, smallCollection + 1));
    const isSmall = usable.length <= smallCollection;
    // Those that fit the question, then others: all of a small collection, of a large one what a few calls can read.
    return { operation, isBatch, chosen: isSmall ? usable : usable.slice(0, max), isWhole: isSmall && found.isAll };
  });
  // What is read as a whole need not be searched.
  const isRead = takers.some(
    ({ operation, isWhole, chosen }) => operation.kind === 'read' && isWhole && chosen.length > 0,
  );
  const ofTools = takers.flatMap(({ operation, isBatch, chosen, isWhole }) => {
    if (isRead && operation.kind === 'search') return [];
    const make = isBatch ? batchSteps : singleSteps;
    // A small collection is read whole, and many things in one call cost little.
    const min = isBatch || isWhole ? priorities.collection : 0;
    return make(planner, operation, found, chosen).map((step) => ({
      ...step,
      priority: Math.max(step.priority, min),
      from: found.operation.tool,
    }));
  });
  return [...ofTools, ...linkSteps(ranked, found), ...namesakeSteps(planner.strategy, ranked, found)];
}

/** A search may answer the names of resources and nothing to read them by. */
function namesakeSteps({ resources }: Strategy, ranked: readonly EntryChoice[], { isHit }: FoundEntries): Step[] {
  if (!isHit || resources.length === 0) return [];
  const byName = new Map(resources.map((resource) => [resource.name.toLowerCase(), resource]));
  return ranked.slice(0, maxLinks).flatMap(({ entry, fit }) => {
    const { lead, name, title, '': line } = entry.fields;
    const resource = [line, name, title, lead].map((text) => byName.get(String(text).toLowerCase())).find(Boolean);
    return resource === undefined ? [] : [resourceStep(resource, priorities.worthwhile + hitLift + perFit * fit)];
  });
}

const maxLinks = 6;

/** A tool may answer with links to resources. */
function linkSteps(ranked: readonly EntryChoice[], { isHit, context }: FoundEntries): Step[] {
  return ranked
    .filter(({ entry }) => entry.isLink)
    .slice(0, maxLinks)
    .map(({ entry, fit }) => {
      const { uri = '', name = '' } = entry.fields;
      const resource = { uri: String(uri), name: String(name), description: context };
      return resourceStep(resource, priorities.worthwhile + perFit * fit + (isHit ? hitLift : 0));
    });
}

/** What an earlier question listed. */
export function stepsFromListing(planner: Planner, listing: KnownListing): Step[] {
  const { tool, noun, entries, scope, context, isAll } = listing;
  const operation = planner.strategy.operations.find((known) => known.tool === tool && known.kind !== 'read');
  if (operation === undefined) return [];
  const found = { entries, operation: { ...operation, noun }, scope, depth: 1, context };
  return stepsFrom(planner, { ...found, isHit: false, isAll });
}

/** Operations that need a handle; of those that take the same one, the preferred. */
function takersOf({ strategy, fits }: Planner, { operation: producer, entries }: FoundEntries): Operation[] {
  const { operations } = strategy;
  const isDatabase = operations.some(({ kind }) => kind === 'sql');
  const takers = preferredOf(operations).filter((operation) => {
    const { needs, kind, tool, key, noun } = operation;
    if (kind === 'sql' || (isPoor(operation) && (fits.get(key) ?? 0) < fittingTool)) return false;
    if (isNarrowedBy(operation, producer)) return true;
    if (needs.length === 0 || (tool === producer.tool && kind !== 'list')) return false;
    // The statements read the schema by themselves.
    if (isDatabase && (noun === 'table' || noun === 'schema')) return false;
    const onlyFolders = needs.every(({ role }) => role.kind === 'handle' && role.attribute === 'folder');
    // A search of the whole has looked into every folder.
    return !(onlyFolders && (producer.isWhole || kind === 'search'));
  });
  const alike = Map.groupBy(takers, (operation) => {
    const signature = signatureOf(operation);
    const isPath = signature.includes('path:') || signature.includes('uri:');
    return `${operation.kind} ${signature} ${operation.kind === 'read' && isPath ? '' : operation.noun}`;
  });
  const nouns = new Set([producer.noun, ...entries.slice(0, sampledEntries).map(({ noun }) => noun)].map(classOf));
  const fields = new Set(entries.slice(0, sampledEntries).flatMap((entry) => Object.keys(entry.fields)));
  const value = ({ preference, noun, needs, namespace, key }: Operation): number =>
    preference +
    // What reads a workbook is the reader of what lists workbooks.
    (noun !== '' && nouns.has(classOf(noun)) ? sameNoun : 0) +
    (namespace === producer.namespace ? sameNamespace : 0) +
    (needs.some(({ name }) => fields.has(name)) ? sameField : 0) +
    perToolFit * (fits.get(key) ?? 0);
  const best = [...alike.values()].map((same) => same.reduce((a, b) => (value(b) > value(a) ? b : a)));
  const ofKind = (isReader: boolean): Operation[] =>
    best
      .filter(({ kind }) => (kind === 'read') === isReader)
      .toSorted((a, b) => value(b) - value(a))
      .slice(0, maxTakers);
  return [...ofKind(true), ...ofKind(false)];
}

const sampledEntries = 20;
const sameNoun = 4;
const sameNamespace = 3;
const sameField = 3;
const perToolFit = 4;
/** Of readers, and of lists and searches. */
const maxTakers = 3;

const isPath = (attribute: string): boolean => attribute === 'folder' || attribute === 'path';

/** Folders lead to what the same tool lists below them, calendars to the events of each. */
function isNarrowedBy({ narrows, tool }: Operation, producer: Operation): boolean {
  return narrows.some(
    ({ role }) =>
      role.kind === 'handle' && (isPath(role.attribute) ? tool === producer.tool : role.noun === producer.noun),
  );
}

/** Entries of one answer are alike: where the first are of no use, the others are not looked at. */
const maxUseless = 60;

function takeUsable(
  planner: Planner,
  operation: Operation,
  found: FoundEntries,
  ranked: readonly EntryChoice[],
  max: number,
): EntryChoice[] {
  const usable: EntryChoice[] = [];
  let useless = 0;
  for (const choice of ranked) {
    if (usable.length >= max || useless >= maxUseless) break;
    if (isUsable(planner, operation, found, choice.entry)) usable.push(choice);
    else useless += 1;
  }
  return usable;
}

/** Something of the entry itself must go into the call; inherited handles alone would be the same call again. */
function isUsable(planner: Planner, operation: Operation, found: FoundEntries, entry: Entry): boolean {
  const { question, folders } = planner;
  const input = operation.input === undefined ? undefined : (question.keywords[0] ?? question.text);
  const bound = bindArguments(operation, question, sourceOf(planner, found, entry), input);
  if (!bound.ok) return false;
  return bound.bindings.some(
    ({ scope, isOwn }) =>
      isOwn &&
      Object.entries(scope).some(([name, value]) => value !== found.scope[name] && !folders.includes(String(value))),
  );
}

function sourceOf({ folders, strategy }: Planner, { operation, scope }: FoundEntries, entry: Entry): HandleSource {
  const { listed, produced } = nounsOf(strategy);
  return { entry, noun: operation.noun, scope, folders, listed, produced };
}

const smallCollection = 24;
const maxHits = 6;
const maxBatched = 120;
const maxUnsearched = 40;
const maxSearched = 10;

/** What a search of the contents does not find is hardly found by reading on. */
function maxListed({ operations }: Strategy): number {
  const isSearched = operations.some(({ kind, style }) => kind === 'search' && style !== 'name' && style !== 'glob');
  return isSearched ? maxSearched : maxUnsearched;
}

const perFit = 45;
const hitLift = 16;
const listLift = 4;
const searchLift = 10;

/** What is informative on its own is read last. */
const tellingDrop = 12;

function priorityOf(
  { fit, entry }: EntryChoice,
  { isHit, depth }: FoundEntries,
  { kind, preference }: Operation,
): number {
  const lift = kind === 'search' ? searchLift : kind === 'list' ? listLift : 0;
  const drop = entry.isTelling && !isHit && fit < fittingLabel ? tellingDrop : 0;
  return priorities.read + perFit * fit + (isHit ? hitLift : 0) + lift - 2 * depth + preference - drop;
}

function singleSteps(
  planner: Planner,
  operation: Operation,
  found: FoundEntries,
  chosen: readonly EntryChoice[],
): Step[] {
  return chosen.flatMap((choice) => {
    const source = sourceOf(planner, found, choice.entry);
    const context = `${found.context} ${choice.entry.label}`.trim();
    const details = { priority: priorityOf(choice, found, operation), depth: found.depth + 1, context };
    if (operation.kind === 'search') return searchSteps(planner, operation, source, { ...details, rung: 0 });
    return callSteps(planner, operation, source, { ...details, titles: [titleOf(choice.entry)] });
  });
}

const perBatch = 8;

/** Many things in one call, those that fit before those that may. */
function batchSteps(
  planner: Planner,
  operation: Operation,
  found: FoundEntries,
  chosen: readonly EntryChoice[],
): Step[] {
  const fitting = chosen.filter(({ fit }) => fit >= fittingLabel);
  const others = chosen.filter(({ fit }) => fit < fittingLabel);
  return [fitting, others].flatMap((choices) =>
    Array.from({ length: Math.ceil(choices.length / perBatch) }, (_, at) =>
      choices.slice(at * perBatch, (at + 1) * perBatch),
    ).flatMap((batch) => batchStep(planner, operation, found, batch)),
  );
}

function batchStep(planner: Planner, operation: Operation, found: FoundEntries, batch: readonly EntryChoice[]): Step[] {
  const list = operation.needs.find(({ isList }) => isList);
  const [best] = batch;
  if (list === undefined || best === undefined) return [];
  const bound = batch.flatMap(({ entry }) => {
    const own = bindArguments(operation, planner.question, sourceOf(planner, found, entry));
    return own.ok ? [own.bindings] : [];
  });
  const { spelling } = planner.knowledge.tool(operation.tool);
  const [first, ...others] = [...new Set([spelling, 0, 1])].flatMap((place) => joined(bound, place, list.name));
  if (first === undefined) return [];
  const titles = [first.arguments[list.name]].flat().map(String);
  const priority = priorityOf(best, found, operation);
  const { scope, context } = found;
  return [toolStep(operation, first, { priority, depth: found.depth + 1, context, spelling, others, titles, scope })];
}

/** The same spelling of every handle, in one list. */
function joined(bound: readonly Binding[][], place: number, list: string): Binding[] {
  const bindings = bound.flatMap((own) => own[place] ?? own[0] ?? []);
  const [first] = bindings;
  if (first === undefined || (place > 0 && bound.every((own) => own[place] === undefined))) return [];
  const values = bindings.flatMap((binding) => binding.arguments[list]);
  return [{ ...first, arguments: { ...first.arguments, [list]: values } }];
}
