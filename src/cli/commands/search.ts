import type { Command } from 'commander';
import { collect } from '../assignments.ts';
import { type AddCommand, createContext } from '../command.ts';
import { requireChoice, requireServers } from '../known-names.ts';
import { toNumber } from '../numbers.ts';

interface SearchMatch {
  name: string;
  description: string;
  score: number;
  alternatives?: { name: string }[];
  reasons?: { matched_words: string[]; similarity: number | null; skills: string[] };
}

interface SearchAnswer {
  tools: SearchMatch[];
  metadata: { warnings?: string[]; servers_searched: number };
}

interface SearchOptions {
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
    .argument('<words...>', 'the task, in plain words')
    .option('--limit <number>', 'maximum number of tools')
    .option('--server <name>', 'only this server; repeatable', collect)
    .option('--threshold <chance>', 'minimum score, 0 to 1')
    .option('--strategy <strategy>', 'hierarchical, direct, lexical or auto')
    .action(async (words: string[], options: SearchOptions, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      await requireServers(client, options.server ?? []);
      requireChoice('--strategy', options.strategy, strategies);
      const answer = await client.post<SearchAnswer>('/api/v1/search', {
        query: words.join(' '),
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
      terminal.table(
        ['SCORE', 'TOOL', 'WHY'],
        answer.tools.map((tool) => [tool.score.toFixed(2), tool.name, why(tool)]),
      );
    });
};

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
