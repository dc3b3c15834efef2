import type { Command } from 'commander';
import { api } from '../client.ts';
import { type AddCommand, createContext, withGlobalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';

interface AuditRecordAnswer {
  id: number;
  event: string;
  actor: string;
  timestamp: string;
  server_name: string | null;
  details: Record<string, unknown> | null;
}

interface ChainVerdict {
  intact: boolean;
  records: number;
  head: { seq: number; hash: string } | null;
  problem?: { explanation: string };
}

const filters = {
  event: 'only this event, for example server.registered',
  actor: 'only actions of this token',
  server: 'only records about this server',
  since: 'not before this time, ISO 8601',
  until: 'not after this time, ISO 8601',
};

type Filters = Partial<Record<keyof typeof filters | 'limit', string>>;

export const addAudit: AddCommand = (program, environment) => {
  const group = program.command('audit').description('list, verify and export the audit');

  const list = withGlobalFlags(group.command('list', { isDefault: true }))
    .description('list the records, newest first')
    .option('--limit <number>', 'maximum number of records, up to 1000', '50');
  for (const [name, help] of Object.entries(filters)) list.option(`--${name} <value>`, help);
  list.action(async (options: Filters, self: Command) => {
    const { client, terminal } = createContext(self, environment);
    const { server, event, actor, since, until, limit } = options;
    const answer = await client.get<{ audit: AuditRecordAnswer[] }>(
      `${api}/audit${toQuery({ event, actor, since, until, limit, server_name: server })}`,
    );
    if (terminal.json) return terminal.printJson(answer);
    if (answer.audit.length === 0) return terminal.note('No matching records.');
    terminal.table(
      ['TIME', 'EVENT', 'ACTOR', 'SERVER', 'DETAILS'],
      answer.audit.map((record) => [
        record.timestamp,
        record.event,
        record.actor,
        record.server_name ?? '',
        record.details === null ? '' : JSON.stringify(record.details),
      ]),
    );
  });

  withGlobalFlags(group.command('verify'))
    .description('check that no record was changed, removed or inserted')
    .action(async (_options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const verdict = await client.get<ChainVerdict>(`${api}/audit/verify`);
      if (terminal.json) terminal.printJson(verdict);
      else if (verdict.intact) {
        const { head } = verdict;
        terminal.print(`${verdict.records} records, all unchanged.`);
        if (head !== null) terminal.print(`The newest is ${head.seq} with the hash ${head.hash}`);
      }
      if (!verdict.intact)
        throw new CommandFailure('failed', verdict.problem?.explanation ?? 'The audit was tampered with.');
    });

  withGlobalFlags(group.command('export'))
    .description('print the records with their seals, one JSON object per line, oldest first')
    .option('--since <time>', filters.since)
    .option('--until <time>', filters.until)
    .action(async ({ since, until }: Filters, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const lines = await client.getText(`${api}/audit/export${toQuery({ since, until })}`);
      terminal.print(lines.trimEnd());
    });
};

function toQuery(values: Record<string, string | undefined>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}
