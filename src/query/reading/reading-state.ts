/** One server's part of a query: its limits, what it reports, and what the calls of one reading share. */
import type { EventLoopWatchdog } from '../../event-loop-watchdog.ts';
import type { ServerTurn } from '../fan-out.ts';
import type { RelevantItem } from '../results/items.ts';
import type { ToolAnswer } from './answer.ts';
import type { Exploration } from './exploration.ts';
import type { Planner } from './step.ts';
import { createStepQueue } from './step-queue.ts';

/** What a server can be asked for. */
export interface ServerGateway {
  callTool(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolAnswer>;
  readResource(uri: string, signal: AbortSignal): Promise<{ contents?: unknown }>;
  complete(request: CompletionRequest, signal: AbortSignal): Promise<string[]>;
}

/** Values of a template's variable that begin like `value`, the other variables being `filled`. */
interface CompletionRequest {
  uriTemplate: string;
  variable: string;
  value: string;
  filled: Readonly<Record<string, string>>;
}

export interface ReadingLimits {
  maxCalls: number;
  /** Of these, calls whose use is doubtful. */
  maxExploring: number;
  maxChars: number;
  maxItems: number;
}

export interface ReadCall {
  /** The tool, or the method for resources and completions. */
  tool: string;
  ms: number;
  items: number;
  /** The answer was larger than its share of the limits and was cut after a whole item. */
  truncated?: true;
  error?: string;
}

export interface Reading {
  items: RelevantItem[];
  calls: ReadCall[];
  receivedChars: number;
  /** Items of all answers, before those that do not answer the question were left out. */
  rawItems: number;
  /** Tools that were not called because they kept failing. */
  resting: readonly string[];
  /** The server was not asked because it kept giving no answer. */
  isPaused?: true;
}

export type BeginWork = EventLoopWatchdog['begin'];

export interface ReadingInput extends Planner {
  server: string;
  gateway: ServerGateway;
  /** The time for reading what a tool answered, so that it is known whose text takes long to read. */
  beginWork?: BeginWork;
  limits: ReadingLimits;
  turn: ServerTurn;
  exploration: Exploration;
  /** The caller named this server: it is asked although it or its tools kept failing. */
  isNamed: boolean;
}

/** Shared by the calls of one reading; each adds to it. */
export interface ReadingState {
  readonly input: ReadingInput;
  readonly queue: ReturnType<typeof createStepQueue>;
  readonly calls: ReadCall[];
  /** Items of searches and lists. */
  readonly found: RelevantItem[];
  /** Items of documents that were read. */
  readonly read: RelevantItem[];
  readonly received: { chars: number; items: number };
  /** Pages that were read of each operation. */
  readonly pages: Map<string, number>;
  /** By list and reader: how many reads in a row told no more than the list. */
  readonly worthless: Map<string, number>;
  readonly failedTools: Set<string>;
  /** Answers that were read, to notice a server that ignores the page it is asked for. */
  readonly answered: Set<string>;
}

export function newReadingState(input: ReadingInput): ReadingState {
  return {
    input,
    queue: createStepQueue(input.knowledge, Date.now, input.isNamed),
    calls: [],
    found: [],
    read: [],
    received: { chars: 0, items: 0 },
    pages: new Map(),
    worthless: new Map(),
    failedTools: new Set(),
    answered: new Set(),
  };
}

/** One answer may take half of the server's share. */
export const charsPerAnswer = ({ maxChars }: ReadingLimits): number => Math.min(maxReadChars, Math.floor(maxChars / 2));

const maxReadChars = 524_288;

export function bestItems(items: readonly RelevantItem[], maxItems: number): RelevantItem[] {
  return items
    .toSorted((a, b) => b.relevance - a.relevance || (a.answer ?? 0) - (b.answer ?? 0) || a.position - b.position)
    .slice(0, maxItems);
}
