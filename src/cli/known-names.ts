/** Names that a user gives and the aggregator would take although it does not know them. */
import { didYouMean } from '../suggestions.ts';
import type { ServerList } from './answers.ts';
import { api, type Client } from './client.ts';
import { CommandFailure } from './exit-code.ts';

export async function requireServers(client: Client, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const { servers } = await client.get<ServerList>(`${api}/servers?limit=1000`);
  const ids = new Set(servers.map(({ id }) => id));
  requireKnown(
    'Server',
    names.filter((name) => !ids.has(name)),
    servers.map(({ name }) => name),
  );
}

export async function requireProfile(client: Client, name: string | undefined): Promise<void> {
  if (name === undefined) return;
  const { profiles } = await client.get<{ profiles: { name: string }[] }>('/api/v1/profiles');
  requireKnown(
    'Profile',
    [name],
    profiles.map((profile) => profile.name),
  );
}

export function requireKnown(what: string, names: readonly string[], known: readonly string[]): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new CommandFailure('notFound', `${what} not found: ${unknown}${didYouMean(unknown, known)}`);
}

/** A word that has to be one of a few. */
export function requireChoice(option: string, given: string | undefined, choices: readonly string[]): void {
  if (given === undefined || choices.includes(given)) return;
  throw new CommandFailure(
    'usage',
    `${option}: "${given}" is not one of ${choices.join(', ')}${didYouMean(given, choices)}`,
  );
}
