import type { Command } from 'commander';
import { collect } from '../assignments.ts';
import { type AddCommand, createContext } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { requireChoice, requireServers } from '../known-names.ts';
import { toNumber } from '../numbers.ts';

interface SearchMatch {
  name: string;
  description: string;
  score: number;
  steps?: number[];
  alternatives?: { name: string }[];
  reasons?: { matched_words: string[]; similarity: number | null; skills: string[] };
}

interface SearchAnswer {
  tools: SearchMatch[];
  steps?: { query: string; tools: string[] }[];
  metadata: { warnings?: string[]; servers_searched: number };
}

interface SearchOptions {
  step?: string[];
  limit?: string;
  server?: string[];
  threshold?: string;
  strategy?: string;
}

const strategies = ['hierarchical', 'direct', 'lexical', 'auto'];

export const addSearch: AddCommand = (program, environment) => {
  program
    .command('search')
    .description('search for tools that fit a task')
    .argument('[words...]', 'the task, in plain words')
    .option('--step <words>', 'one step of the task; repeatable, every step gets its own tools', collect)
    .option('--limit <number>', 'maximum number of tools')
    .option('--server <name>', 'only this server; repeatable', collect)
    .option('--threshold <chance>', 'minimum score, 0 to 1')
    .option('--strategy <strategy>', 'hierarchical, direct, lexical or auto')
    .action(async (words: string[], options: SearchOptions, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      if (words.length === 0 && options.step === undefined)
        throw new CommandFailure('usage', 'Describe the task, or its steps with --step.');
      await requireServers(client, options.server ?? []);
      requireChoice('--strategy', options.strategy, strategies);
      const answer = await client.post<SearchAnswer>('/api/v1/search', {
        query: words.length === 0 ? undefined : words.join(' '),
        queries: options.step,
        limit: toNumber(options.limit, '--limit'),
        tool_threshold: toNumber(options.threshold, '--threshold'),
        server_filter: options.server,
        strategy: options.strategy,
        include_reasons: true,
        include_schemas: false,
      });
      if (terminal.json) return terminal.printJson(answer);
      for (const warning of answer.metadata.warnings ?? []) terminal.note(`warning: ${warning}`);
      if (answer.tools.length === 0) {
        return terminal.note(
          answer.metadata.servers_searched === 0 ? 'No server is connected.' : 'No tool fits this task.',
        );
      }
      if (answer.steps === undefined) return terminal.table(head, answer.tools.map(toRow));
      const byName = new Map(answer.tools.map((tool) => [tool.name, tool]));
      const rows = answer.steps.flatMap(({ query, tools }, step) => {
        const found = tools.flatMap((name) => byName.get(name) ?? []);
        const place = `${step + 1}. ${query}`;
        return found.length === 0 ? [[place, '', '', 'no tool fits']] : found.map((tool) => [place, ...toRow(tool)]);
      });
      const whole = answer.tools.filter(({ steps }) => steps?.length === 0);
      terminal.table(['STEP', ...head], [...rows, ...whole.map((tool) => ['the whole task', ...toRow(tool)])]);
    });
};

const head = ['SCORE', 'TOOL', 'WHY'];
const toRow = (tool: SearchMatch) => [tool.score.toFixed(2), tool.name, why(tool)];

function why({ reasons, alternatives = [], description }: SearchMatch): string {
  const { matched_words: words = [], similarity = null, skills = [] } = reasons ?? {};
  const parts = [
    ...(words.length === 0 ? [] : [`matches ${words.join(', ')}`]),
    ...(similarity === null ? [] : [`${Math.round(similarity * 100)} % alike`]),
    ...(skills.length === 0 ? [] : [`skill ${skills.join(', ')}`]),
    ...(alternatives.length === 0 ? [] : [`also ${alternatives.map(({ name }) => name).join(', ')}`]),
  ];
  return parts.length === 0 ? (description.split('\n', 1)[0] ?? '') : parts.join('; ');
}
