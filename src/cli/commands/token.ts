import type { Command } from 'commander';
import { collect } from '../assignments.ts';
import { type AddCommand, createContext, withGlobalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { requireChoice, requireKnown, requireProfile, requireServers } from '../known-names.ts';

interface TokenView {
  id: string;
  name: string;
  role: string;
  servers: string[] | null;
  profile: string | null;
  last_used_at: string | null;
  expires_at: string | null;
}

interface CreateOptions {
  role: string;
  server?: string[];
  profile?: string;
  expires?: string;
}

const path = '/api/v1/tokens';
const unitsMs: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

export const addToken: AddCommand = (program, environment) => {
  const group = program.command('token').description('create, list and revoke tokens');

  withGlobalFlags(group.command('create'))
    .description('create a token; it is shown only once')
    .argument('<name>', 'name of the token')
    .option('--role <role>', 'admin, caller (lists and calls tools) or viewer (lists)', 'caller')
    .option('--server <name>', 'limits the token to this server; repeatable', collect)
    .option('--profile <name>', 'limits the token to this profile')
    .option('--expires <when>', 'expires after 90m, 12h, 30d, or at an ISO 8601 time')
    .action(async (name: string, options: CreateOptions, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      requireChoice('--role', options.role, ['admin', 'caller', 'viewer']);
      await requireServers(client, options.server ?? []);
      await requireProfile(client, options.profile);
      const created = await client.post<TokenView & { token: string }>(path, {
        name,
        role: options.role,
        servers: options.server,
        profile: options.profile,
        expires_at: options.expires === undefined ? undefined : toTime(options.expires, Date.now()),
      });
      if (terminal.json) return terminal.printJson(created);
      terminal.note(`Token "${name}" (${created.role}), shown only once:`);
      terminal.print(created.token);
    });

  withGlobalFlags(group.command('list'))
    .description('list the tokens, without their secrets')
    .action(async (_options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const answer = await client.get<{ tokens: TokenView[] }>(path);
      if (terminal.json) return terminal.printJson(answer);
      if (answer.tokens.length === 0) return terminal.note('No tokens found. The admin token is always valid.');
      terminal.table(
        ['ID', 'NAME', 'ROLE', 'SERVERS', 'LAST USED', 'EXPIRES'],
        answer.tokens.map((token) => [
          token.id,
          token.name,
          token.role,
          token.servers?.join(', ') ?? (token.profile === null ? 'all' : `profile ${token.profile}`),
          token.last_used_at ?? 'never',
          token.expires_at ?? 'never',
        ]),
      );
    });

  withGlobalFlags(group.command('revoke'))
    .description('revoke a token immediately')
    .argument('<token>', 'ID of the token, or its name if it is unique')
    .action(async (wanted: string, _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const { tokens } = await client.get<{ tokens: TokenView[] }>(path);
      requireKnown(
        'Token',
        [wanted],
        tokens.flatMap(({ id, name }) => [id, name]),
      );
      const [token, ...others] = tokens.filter(({ id, name }) => id === wanted || name === wanted);
      if (token === undefined || others.length > 0)
        throw new CommandFailure('usage', `Several tokens are named "${wanted}"; use the ID.`);
      await client.delete(`${path}/${encodeURIComponent(token.id)}`);
      if (terminal.json) terminal.printJson({ revoked: token.id, name: token.name });
      else terminal.print(`Token "${token.name}" revoked.`);
    });
};

export function toTime(text: string, now: number): string {
  const [, amount, unit = ''] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const span = unitsMs[unit];
  if (amount !== undefined && span !== undefined) return new Date(now + Number(amount) * span).toISOString();
  if (Number.isNaN(Date.parse(text))) {
    throw new CommandFailure(
      'usage',
      `--expires: "${text}" is not a valid time; examples: 12h, 30d, 2027-01-31T00:00:00Z`,
    );
  }
  return new Date(text).toISOString();
}
