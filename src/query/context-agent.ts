/**
 * an agent reads across the servers and returns one compact context. The model chooses what to read; what
 * it may call is decided here. It asks servers with the same reading strategies as a query, or calls a reader itself.
 */
import type Anthropic from '@anthropic-ai/sdk';
import { AppError, describe } from '../errors.ts';
import { type Model, ModelError, type ReplyBlock } from '../model.ts';
import { type CitedSource, citationsIn, cutToTokens, withKnownMarks } from './citations.ts';
import { answerInput, type ContextAction, contextModelTools, contextPrompt, parseAction } from './context-model.ts';
import { type AgentStep, type ContextOutput, parseContextRequest } from './context-tool.ts';
import { refusalOf } from './model-plan.ts';
import { type QueryDeps, runQuery } from './query.ts';
import { parseAnswer, parseContents } from './reading/answer.ts';
import { errorText, untilAborted } from './reading/reading.ts';
import { itemsOf } from './results/items.ts';
import { estimateTokens } from './results/tokens.ts';
import type { StrategyTool } from './strategy/strategy.ts';

interface ContextLimits {
  rounds: number;
  calls: number;
  timeMs: number;
  /** Input and output of the model together. */
  tokens: number;
  callTimeoutMs: number;
}

const defaultContextLimits: ContextLimits = {
  rounds: 6,
  calls: 12,
  timeMs: 60_000,
  tokens: 100_000,
  callTimeoutMs: 10_000,
};

export interface ContextDeps extends QueryDeps {
  model: Model;
  contextLimits?: Partial<ContextLimits>;
}

/** What one tool result may take of the model's attention. */
const shownCharsPerCall = 12_000;
const shownResults = 10;
const shownItems = 20;
const shownTools = 8;
const answerTokens = 4096;

/** An agent loop with hard bounds. When one is reached, the model is asked once for its answer with what it has. */
export async function collectContext(deps: ContextDeps, input: unknown, signal: AbortSignal): Promise<ContextOutput> {
  const request = parseContextRequest(input);
  const limits = { ...defaultContextLimits, ...deps.contextLimits };
  const started = performance.now();
  const timeout = AbortSignal.timeout(limits.timeMs);
  const run = new AgentRun(deps, limits, AbortSignal.any([signal, timeout]));
  try {
    const { context, by } = await run.answer(request.query, request.max_tokens);
    return {
      context,
      citations: run.citations(context),
      metadata: {
        rounds: run.rounds,
        calls: run.calls,
        inputTokens: run.inputTokens,
        outputTokens: run.outputTokens,
        processingTimeMs: Math.round(performance.now() - started),
        endedBy: by,
        trace: run.trace,
      },
    };
  } catch (error) {
    if (signal.aborted) throw new AppError('CALL_CANCELLED', 'The client ended the query', { cause: error });
    if (!timeout.aborted) throw error;
    throw new AppError('EXECUTION_TIMEOUT', `The model gave no context within ${limits.timeMs} ms`, { cause: error });
  }
}

interface Ended {
  context: string;
  by: ContextOutput['metadata']['endedBy'];
}

type InputOf<Kind extends ContextAction['kind']> = Extract<ContextAction, { kind: Kind; input: unknown }>['input'];

class AgentRun {
  readonly trace: AgentStep[] = [];
  rounds = 0;
  calls = 0;
  inputTokens = 0;
  outputTokens = 0;
  readonly #deps: ContextDeps;
  readonly #limits: ContextLimits;
  readonly #signal: AbortSignal;
  readonly #sources: CitedSource[] = [];
  #wasAskedForMarks = false;

  constructor(deps: ContextDeps, limits: ContextLimits, signal: AbortSignal) {
    this.#deps = deps;
    this.#limits = limits;
    this.#signal = signal;
  }

  async answer(query: string, maxTokens: number): Promise<Ended> {
    const messages: Anthropic.MessageParam[] = [
      { role: 'user', content: `Collect context of at most ${maxTokens} tokens for this:\n${query}` },
    ];
    for (;;) {
      const bound = boundReached(this, this.#limits);
      this.rounds++;
      const mustCall = bound === undefined ? undefined : 'give_context';
      const { content, usage } = await this.#deps.model.createMessage(
        { system: contextPrompt, messages, tools: contextModelTools, maxTokens: answerTokens, mustCall },
        this.#signal,
      );
      this.inputTokens += usage.input_tokens;
      this.outputTokens += usage.output_tokens;
      const given = this.#givenContext(content, maxTokens, bound !== undefined);
      if (given !== undefined) return { context: given, by: bound ?? 'answer' };
      if (bound !== undefined) throw new ModelError('the model gave no context');
      const uses = content.filter((block) => block.type === 'tool_use');
      if (uses.length === 0) return { context: cutToTokens(textOf(content), maxTokens), by: 'model' };
      const results = await Promise.all(uses.map((block) => this.#act(block)));
      messages.push({ role: 'assistant', content }, { role: 'user', content: results });
    }
  }

  citations(context: string): ContextOutput['citations'] {
    return citationsIn(context, this.#sources);
  }

  /**
   * The model's answer without marks of sources that do not exist: a citation must lead somewhere. Where it cites
   * nothing of what was read, the model is asked once for the marks.
   */
  #givenContext(blocks: readonly ReplyBlock[], maxTokens: number, isLast: boolean): string | undefined {
    const call = blocks.find((block) => block.type === 'tool_use' && block.name === 'give_context');
    const parsed = answerInput.safeParse(call?.type === 'tool_use' ? call.input : undefined);
    if (!parsed.success) return undefined;
    const context = withKnownMarks(parsed.data.context, this.#sources.length);
    const isCited = this.citations(context).length > 0;
    if (!isCited && this.#sources.length > 0 && !this.#wasAskedForMarks && !isLast) {
      this.#wasAskedForMarks = true;
      return undefined;
    }
    this.#record('answer', `${estimateTokens(context)} tokens`);
    return cutToTokens(context, maxTokens);
  }

  #record(action: AgentStep['action'], detail: string, ms = 0, error?: string): void {
    this.trace.push({ round: this.rounds, action, detail, ms, ...(error === undefined ? {} : { error }) });
  }

  async #act(block: Extract<ReplyBlock, { type: 'tool_use' }>): Promise<Anthropic.ToolResultBlockParam> {
    const started = performance.now();
    const { action, detail, content, error } = await this.#perform(block.name, parseAction(block.name, block.input));
    this.#record(action, detail, Math.round(performance.now() - started), error);
    const said = error === undefined ? { content } : { content: error, is_error: true };
    return { type: 'tool_result', tool_use_id: block.id, ...said };
  }

  async #perform(name: string, action: ContextAction): Promise<Performed> {
    switch (action.kind) {
      case 'ask_servers':
        return await this.#ask(action.input);
      case 'search_tools':
        return await this.#search(action.input.query);
      case 'call_tool':
        return await this.#call(action.input);
      case 'read_resource':
        return await this.#readResource(action.input);
      case 'refused':
        return refused(name, action.problem);
    }
  }

  async #ask(request: InputOf<'ask_servers'>): Promise<Performed> {
    return await this.#read('ask_servers', request.query, async () => {
      const { results } = await runQuery(this.#deps, { ...request, maxResults: shownResults }, this.#signal);
      return results.map(({ server, tool = '', title, link, content }) => ({ server, tool, title, link, content }));
    });
  }

  async #search(query: string): Promise<Performed> {
    const servers = (await this.#deps.servers()).filter((server) => server.unavailable === undefined);
    const names = servers.map((server) => server.name);
    const found = await this.#deps.findTools(query, names, 3 * shownTools);
    const readable = await Promise.all(found.map(async ({ server, tool }) => await this.#findReader(server, tool)));
    const shown = readable.flatMap((reader, at) =>
      reader === undefined ? [] : [{ server: found[at]?.server, ...described(reader) }],
    );
    return { action: 'search_tools', detail: query, content: JSON.stringify(shown.slice(0, shownTools)) };
  }

  async #call({ server, tool, arguments: args }: InputOf<'call_tool'>): Promise<Performed> {
    const connected = (await this.#deps.servers()).filter(({ unavailable }) => unavailable === undefined);
    const problem = refusalOf({ server, tool, arguments: args }, connected);
    if (problem !== undefined) return refused(`${server}.${tool}`, problem);
    const detail = `${server}.${tool} ${JSON.stringify(args).slice(0, 200)}`;
    return await this.#read('call_tool', detail, async (signal) => {
      const answer = await untilAborted(this.#deps.gateway(server).callTool(tool, args, signal), signal);
      if (answer.isError === true) throw new Error(errorText(answer));
      return toSources(parseAnswer(answer, shownCharsPerCall), server, tool);
    });
  }

  async #readResource({ server, uri }: InputOf<'read_resource'>): Promise<Performed> {
    const known = (await this.#deps.servers()).find(({ name }) => name === server);
    if (known === undefined || known.unavailable !== undefined) return refused(uri, 'no such server');
    return await this.#read('read_resource', `${server} ${uri}`, async (signal) => {
      const { contents } = await untilAborted(this.#deps.gateway(server).readResource(uri, signal), signal);
      return toSources(parseContents(contents, shownCharsPerCall), server, uri);
    });
  }

  /** A read that fails is something for the model to know, not the end of its work. */
  async #read(
    action: AgentStep['action'],
    detail: string,
    read: (signal: AbortSignal) => Promise<CitedSource[]>,
  ): Promise<Performed> {
    if (this.calls >= this.#limits.calls) return refused(detail, 'no calls left: give the context now');
    this.calls++;
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(this.#limits.callTimeoutMs)]);
    try {
      const found = await read(signal);
      const first = this.#sources.length + 1;
      this.#sources.push(...found);
      const shown = found.map(({ content, title, link }, at) => ({ source: `S${first + at}`, title, link, content }));
      return { action, detail, content: JSON.stringify(shown) };
    } catch (error) {
      if (this.#signal.aborted) throw error;
      return { action, detail, content: '', error: describe(error) };
    }
  }

  async #findReader(server: string, tool: string): Promise<StrategyTool | undefined> {
    const found = (await this.#deps.servers()).find(({ name }) => name === server);
    if (found === undefined || found.unavailable !== undefined) return undefined;
    const isReader = found.strategy.operations.some((operation) => operation.tool === tool);
    return isReader ? found.tools.find(({ name }) => name === tool) : undefined;
  }
}

interface Spent {
  rounds: number;
  calls: number;
  inputTokens: number;
  outputTokens: number;
}

export function boundReached(spent: Spent, limits: ContextLimits): 'rounds' | 'calls' | 'tokens' | undefined {
  if (spent.rounds >= limits.rounds) return 'rounds';
  if (spent.calls >= limits.calls) return 'calls';
  return spent.inputTokens + spent.outputTokens >= limits.tokens ? 'tokens' : undefined;
}

const described = ({ name, description, inputSchema }: StrategyTool) => ({
  tool: name,
  description: description?.slice(0, 300),
  inputSchema,
});

function toSources(answer: ReturnType<typeof parseAnswer>, server: string, tool: string): CitedSource[] {
  const source = { server, tool, timestamp: new Date().toISOString() };
  return itemsOf(answer, source, { maxChars: shownCharsPerCall, maxItems: shownItems }).items;
}

interface Performed {
  action: AgentStep['action'];
  detail: string;
  content: string;
  error?: string;
}

function refused(detail: string, error: string): Performed {
  return { action: 'refused', detail, content: '', error };
}

function textOf(blocks: readonly ReplyBlock[]): string {
  return blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}
