/** `query_tools` of a server: what an administrator wrote down is called, instead of what would be worked out. */
import { describe } from '../../errors.ts';
import type { ServerTurn } from '../fan-out.ts';
import type { RelevanceMeter } from '../question/relevance.ts';
import { answers } from '../question/relevance.ts';
import { type Item, itemsOf } from '../results/items.ts';
import { parseAnswer, type ToolAnswer } from './answer.ts';
import { type Entry, entriesOf, type Scalar } from './entries.ts';
import { isNothingFound } from './nothing-found.ts';
import { errorText, untilAborted } from './reading.ts';
import type { ReadCall, Reading, ReadingLimits, ServerGateway } from './reading-state.ts';
import { priorities } from './step.ts';
import { fillTemplate, fillTemplateForEachWord } from './template.ts';

export interface NamedTool {
  tool: string;
  arguments: Record<string, unknown>;
  follow_up?: { tool: string; arguments: Record<string, unknown>; ids: readonly string[]; take: number };
}

interface NamedCall {
  tool: string;
  arguments: Record<string, unknown>;
  followUp?: NonNullable<NamedTool['follow_up']>;
}

/** The calls, and the tools that the server does not have. */
export function planNamedTools(
  named: readonly NamedTool[],
  known: ReadonlySet<string>,
  query: string,
): { calls: NamedCall[]; missing: string[] } {
  const missing = named.flatMap(({ tool, follow_up }) =>
    [tool, follow_up?.tool].filter((name) => name !== undefined && !known.has(name)),
  ) as string[];
  const calls = named
    .filter(({ tool, follow_up }) => known.has(tool) && (follow_up === undefined || known.has(follow_up.tool)))
    .flatMap(({ tool, arguments: template, follow_up }) =>
      fillTemplateForEachWord(template, { query }).map((filled) => ({
        tool,
        arguments: filled,
        ...(follow_up === undefined ? {} : { followUp: follow_up }),
      })),
    );
  return { calls, missing };
}

interface NamedReadingInput {
  server: string;
  calls: readonly NamedCall[];
  query: string;
  meter: RelevanceMeter;
  gateway: ServerGateway;
  limits: ReadingLimits;
  turn: ServerTurn;
}

export async function readNamedTools(input: NamedReadingInput): Promise<Reading> {
  const { calls, query, meter, limits, turn } = input;
  const { signal, timeoutMessage } = turn;
  const reading: Reading = { items: [], calls: [], receivedChars: 0, rawItems: 0, resting: [] };
  await Promise.all(calls.map(followed));
  return reading;

  async function followed({ tool, arguments: args, followUp }: NamedCall): Promise<void> {
    const answer = await call(tool, args);
    if (answer === undefined || followUp === undefined) return;
    const ids = findIds(entriesOf(parseAnswer(answer, limits.maxChars)), followUp.ids).slice(0, followUp.take);
    await Promise.all(ids.map((id) => call(followUp.tool, fillTemplate(followUp.arguments, { query, id }))));
  }

  async function call(tool: string, args: Record<string, unknown>): Promise<ToolAnswer | undefined> {
    const started = performance.now();
    const report: ReadCall = { tool, ms: 0, items: 0 };
    const giveBack = await turn.takeSlot(priorities.planned).catch(() => undefined);
    // The time was up before its turn came.
    if (giveBack === undefined) return undefined;
    const place = reading.calls.push(report) - 1;
    try {
      signal.throwIfAborted();
      const answer = await untilAborted(input.gateway.callTool(tool, args, signal), signal);
      if (answer.isError === true) {
        report.error = errorText(answer);
        return undefined;
      }
      keep(answer, tool, place, report);
      return answer;
    } catch (error) {
      report.error = signal.aborted ? timeoutMessage : describe(error);
      return undefined;
    } finally {
      giveBack();
      report.ms = Math.round(performance.now() - started);
    }
  }

  function keep(answer: ToolAnswer, tool: string, place: number, report: ReadCall): void {
    const parsed = parseAnswer(answer, limits.maxChars);
    reading.receivedChars += parsed.receivedChars;
    if (isNothingFound(parsed, query)) return;
    const source = { server: input.server, tool, timestamp: new Date().toISOString(), answer: place };
    const { items, truncated } = itemsOf(parsed, source, limits);
    if (truncated) report.truncated = true;
    report.items = items.length;
    reading.rawItems += items.length;
    reading.items.push(...items.map((item) => ({ ...item, relevance: relevanceOf(item) })));
  }

  /** An administrator vouches for the tool: what it says is shown even where it fits the words of the question less. */
  function relevanceOf({ title, content }: Item): number {
    const own = meter.judge(meter.measure(`${title ?? ''}\n${content}`));
    return own > 0 ? Math.max(answers, own) : 0;
  }
}

/** Values of the first key that occurs, in the order the server gave them; of bare lines, the lines. */
function findIds(entries: readonly Entry[], keys: readonly string[]): string[] {
  const text = (value: Scalar): string => (typeof value === 'object' ? value.rawJSON : String(value));
  for (const key of keys) {
    const wanted = plain(key);
    const found = entries.flatMap(({ fields }) =>
      Object.entries(fields)
        .filter(([name]) => plain(name.split('.').at(-1) ?? '') === wanted || plain(name) === wanted)
        .map(([, value]) => text(value)),
    );
    if (found.length > 0) return [...new Set(found)];
  }
  return [...new Set(entries.flatMap(({ fields }) => fields.path ?? fields.lead ?? fields[''] ?? []).map(text))];
}

const plain = (key: string): string => key.toLowerCase().replace(/[^a-z0-9]/g, '');
