import type { Command } from 'commander';
import { type AddCommand, createContext, withGlobalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import type { Terminal } from '../terminal.ts';

interface Quality {
  without_description: string[];
  indistinct: { tools: string[]; similarity: number }[];
  not_found_by_own_description: { tool: string; found_instead: string | null }[];
  servers: { server: string; tools: number; probes: number; hit_at_1: number; hit_at_5: number }[];
}

const shown = 20;

/** `doctor search`: checks that search finds the tools. */
export const addDoctorSearch: AddCommand = (doctor, environment) => {
  withGlobalFlags(doctor.command('search'))
    .description('find tools that search cannot distinguish or does not find')
    .action(async (_options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const quality = await terminal.progress('probing every tool', () =>
        client.get<Quality>('/api/v1/search/quality'),
      );
      const { without_description: silent, indistinct, not_found_by_own_description: lost, servers } = quality;
      const problems = silent.length + indistinct.length + lost.length;
      if (terminal.json) terminal.printJson({ ok: problems === 0, ...quality });
      else if (servers.length === 0) terminal.note('No tools found.');
      else {
        terminal.table(
          ['SERVER', 'TOOLS', 'PROBES', 'FOUND FIRST', 'AMONG FIVE'],
          servers.map(({ server, tools, probes, hit_at_1, hit_at_5 }) => [
            server,
            String(tools),
            String(probes),
            probes === 0 ? '-' : percent(hit_at_1),
            probes === 0 ? '-' : percent(hit_at_5),
          ]),
        );
        explain(terminal, 'without a description: search can use only their names', silent);
        explain(
          terminal,
          'that search cannot distinguish: describe the difference, or hide one with a profile',
          indistinct.map(({ tools, similarity }) => `${tools.join(' and ')} (${percent(similarity)} alike)`),
        );
        explain(
          terminal,
          'that search does not find by their own description: make the description more specific',
          lost.map(({ tool, found_instead: other }) => (other === null ? tool : `${tool} (finds ${other})`)),
        );
      }
      if (problems > 0) throw new CommandFailure('failed', `${problems} ${problems === 1 ? 'finding' : 'findings'}.`);
    });
};

function explain(terminal: Terminal, what: string, findings: readonly string[]): void {
  if (findings.length === 0) return;
  terminal.print(`\n${terminal.style('yellow', `Tools ${what}`)}`);
  for (const finding of findings.slice(0, shown)) terminal.print(`- ${finding}`);
  if (findings.length > shown) terminal.print(`- and ${findings.length - shown} more (--json shows all)`);
}

const percent = (share: number) => `${Math.round(share * 100)} %`;
