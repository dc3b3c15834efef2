import type { Command } from 'commander';
import { type AddCommand, createContext } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { requireChoice, requireServers } from '../known-names.ts';
import { toNumber } from '../numbers.ts';
import type { Terminal } from '../terminal.ts';

interface ResultAnswer {
  rank: number;
  content: string;
  server: string;
  relevanceScore: number;
  title?: string;
  link?: string;
  sources?: { server: string }[];
}

interface Plan {
  server: string;
  strategy: string[];
  calls: { tool: string; arguments: unknown; reason: string }[];
  leftOut: { tool: string; reason: string }[];
}

interface QueryAnswer {
  results: ResultAnswer[];
  metadata: {
    serversQueried: number;
    serversSucceeded: number;
    totalResultsRaw: number;
    processingTimeMs: number;
    warnings?: string[];
    servers?: { server: string; error?: string }[];
    skipped?: { server: string; reason: string }[];
  };
  plan?: Plan[];
}

interface QueryOptions {
  servers?: string;
  maxResults?: string;
  maxTokens?: string;
  rerank?: string;
  plan?: string;
  explain?: boolean;
  full?: boolean;
}

export const addQuery: AddCommand = (program, environment) => {
  program
    .command('query')
    .description('query several servers; prints one ranked list without duplicates')
    .argument('<words...>', 'the question')
    .option('--servers <names>', 'servers to query, separated by commas')
    .option('--max-results <number>', '10 to 100')
    .option('--max-tokens <number>', 'maximum size of the content of all results')
    .option('--rerank <by>', 'local or model; model requires a model key')
    .option('--plan <by>', 'local or model; a model can fill in arguments such as SQL and dates')
    .option('--explain', 'show how each server would be queried, without calling it')
    .option('--full', 'print complete results instead of the relevant passages')
    .action(async (words: string[], options: QueryOptions, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const servers = options.servers?.split(',').map((name) => name.trim());
      await requireServers(client, servers ?? []);
      requireChoice('--rerank', options.rerank, ['local', 'model']);
      requireChoice('--plan', options.plan, ['local', 'model']);
      const body = {
        query: words.join(' '),
        servers,
        maxResults: toNumber(options.maxResults, '--max-results'),
        max_tokens: toNumber(options.maxTokens, '--max-tokens'),
        rerank: options.rerank,
        plan: options.plan,
        explain: options.explain,
        full: options.full,
        compact: false,
      };
      const answer = await terminal.progress('asking', () =>
        client.post<QueryAnswer>('/api/v1/query', body).catch((error: unknown) => {
          throw withReasons(error);
        }),
      );
      if (terminal.json) return terminal.printJson(answer);
      for (const warning of answer.metadata.warnings ?? []) terminal.note(`warning: ${warning}`);
      if (answer.plan === undefined) printResults(answer, terminal, options.full === true);
      else printPlan(answer.plan, terminal);
      for (const { server, reason } of answer.metadata.skipped ?? []) terminal.note(`${server}: ${reason}`);
    });
};

/** If every server failed, the message lists their errors. */
function withReasons(error: unknown): unknown {
  if (!(error instanceof CommandFailure)) return error;
  const { context } = (error.answer ?? {}) as { context?: { errors?: string[] } };
  if (context?.errors === undefined) return error;
  return new CommandFailure(error.exit, [error.message, ...context.errors].join('\n'), {
    answer: error.answer,
    cause: error,
  });
}

function printResults({ results, metadata }: QueryAnswer, terminal: Terminal, full: boolean): void {
  for (const { rank, title, content, server, sources, relevanceScore, link } of results) {
    const servers = [...new Set(sources?.map((source) => source.server) ?? [server])].join(', ');
    const heading = title ?? content.split('\n', 1)[0]?.slice(0, 80) ?? '';
    terminal.print(`${terminal.style('bold', `${rank}. ${heading}`)}  [${servers}]  ${relevanceScore.toFixed(2)}`);
    if (link !== undefined) terminal.print(`   ${link}`);
    const body = content.startsWith(`${heading}\n`) ? content.slice(heading.length + 1) : content;
    terminal.print(`${(full ? body : beginning(body)).replace(/^/gm, '   ')}\n`);
  }
  const { serversQueried, serversSucceeded, totalResultsRaw, processingTimeMs } = metadata;
  terminal.note(
    `${serversSucceeded} of ${serversQueried} servers answered: ${results.length} results out of ${totalResultsRaw} items read, in ${processingTimeMs} ms`,
  );
  for (const { server, error } of metadata.servers ?? []) if (error !== undefined) terminal.note(`${server}: ${error}`);
}

const shownLines = 6;
const shownChars = 500;

function beginning(content: string): string {
  const short = content.split('\n').slice(0, shownLines).join('\n').slice(0, shownChars);
  return short.length < content.length ? `${short.trimEnd()}…` : short;
}

const shownCalls = 3;

/** For each server: how it is queried, the first calls, and the tools that are never called. */
function printPlan(plans: readonly Plan[], terminal: Terminal): void {
  for (const { server, strategy, calls, leftOut } of plans) {
    terminal.print(terminal.style('bold', server));
    if (strategy.length === 0) terminal.print('  Cannot be queried: it has no read-only tools or resources.');
    for (const sentence of strategy) terminal.print(`  ${sentence}`);
    if (calls.length > 0) terminal.print('  First calls:');
    for (const { tool, arguments: args, reason } of calls.slice(0, shownCalls))
      terminal.print(`    ${tool} ${JSON.stringify(args)}  (${reason})`);
    if (leftOut.length > 0) terminal.print('  Never called:');
    for (const { tool, reason } of leftOut) terminal.print(`    ${tool}: ${reason}`);
  }
}
