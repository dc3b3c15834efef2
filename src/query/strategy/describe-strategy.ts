/** Describes a query strategy as text. */
import type { Operation, Strategy } from './strategy.ts';

const maxNames = 3;

/** One sentence for each way; empty where the server cannot be asked. */
export function describeStrategy(strategy: Strategy): string[] {
  const ofKind = (kind: Operation['kind']) => strategy.operations.filter((operation) => operation.kind === kind);
  const readers = ofKind('read').toSorted((a, b) => b.preference - a.preference);
  const lists = ofKind('list');
  const searches = ofKind('search');
  const sentences: string[] = [];
  for (const search of searches.slice(0, maxNames))
    sentences.push(`Searches with ${search.tool}, ${styles[search.style ?? 'any']}${needsOf(search)}.`);
  const further = searches.length - maxNames;
  if (further > 0) sentences.push(`Searches with ${further} more ${further === 1 ? 'tool' : 'tools'}.`);
  if (ofKind('sql').length > 0)
    sentences.push(
      `Reads the tables and columns once, then looks for your words in the text columns with ${names(ofKind('sql'))}.`,
    );
  if (lists.length > 0 && readers.length > 0)
    sentences.push(`Lists entries with ${names(lists)}, then reads the matching ones with ${names(readers)}.`);
  else if (lists.length > 0) sentences.push(`Lists entries with ${names(lists)}.`);
  else if (readers.length > 0)
    sentences.push(
      `Reads what the question names${searches.length > 0 ? ' or a search finds' : ''} with ${names(readers)}.`,
    );
  if (strategy.resources.length > 0)
    sentences.push(`Reads the resources whose name or description fits (${strategy.resources.length} listed).`);
  if (strategy.templates.length > 0)
    sentences.push(
      `Fills ${strategy.templates.length === 1 ? 'a resource template' : `${strategy.templates.length} resource templates`} with the values that the server suggests.`,
    );
  const reports = ofKind('report');
  if (reports.length > 0)
    sentences.push(
      `Calls ${names(reports)} when the question is about what ${toolsOf(reports).length === 1 ? 'it reports' : 'they report'}.`,
    );
  return sentences;
}

/** Where the option `query_tools` of a server takes the place of a strategy. */
export function describeNamedTools(named: readonly { tool: string }[]): string[] {
  return [`Calls the tools named in query_tools: ${named.map(({ tool }) => tool).join(', ')}.`];
}

const styles: Record<NonNullable<Operation['style']>, string> = {
  meaning: 'with the whole question',
  literal: 'word by word',
  regex: 'with a pattern of your keywords',
  glob: 'for files whose name holds a keyword',
  name: 'for names that hold a keyword',
  any: 'with the question and its keywords',
};

function needsOf({ needs }: Operation): string {
  const wanted = needs.map(({ name }) => name);
  return wanted.length === 0 ? '' : `, once ${wanted.join(' and ')} ${wanted.length === 1 ? 'is' : 'are'} known`;
}

const toolsOf = (operations: readonly Operation[]): string[] => [...new Set(operations.map(({ tool }) => tool))];

function names(operations: readonly Operation[]): string {
  const tools = toolsOf(operations);
  const shown = tools.slice(0, maxNames);
  const rest = tools.length - shown.length;
  if (rest > 0) return `${shown.join(', ')} and ${rest} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}
