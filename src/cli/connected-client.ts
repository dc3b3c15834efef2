/** The config file of one MCP client: with the aggregator in it, and as it was before. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { homeOf } from '../home.ts';
import { parseClientConfig } from '../registry/client-files.ts';
import type { ImportPlace } from '../registry/import.ts';
import { didYouMean } from '../suggestions.ts';
import type { Client } from './client.ts';
import { type ClientEntry, clients, entryOf, type McpClient, type Way } from './client-configs/clients.ts';
import { lineDifference } from './client-configs/line-difference.ts';
import { UneditableConfig } from './client-configs/uneditable.ts';
import { CommandFailure } from './exit-code.ts';
import { type ImportRow, rowsOfDocument } from './import-plan.ts';
import type { Terminal } from './terminal.ts';

export interface ClientFile {
  client: McpClient;
  file: string;
  /** Empty if there is no file. */
  text: string;
  /** The name of the aggregator in it. */
  name: string;
}

const backupSuffix = '.before-mcp-aggregator';

export { clients as knownClients } from './client-configs/clients.ts';

export function findClient(id: string): McpClient {
  const client = clients.find((known) => known.id === id);
  if (client !== undefined) return client;
  const known = clients.map((each) => each.id);
  const near = didYouMean(id, known);
  throw new CommandFailure('usage', `"${id}" is not a known client${near || `. Known clients: ${known.join(', ')}`}`);
}

export function openClientFile(client: McpClient, name: string, environment: NodeJS.ProcessEnv): ClientFile {
  const file = fileOf(client, environment);
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  try {
    client.readAll(text);
  } catch (error) {
    if (!(error instanceof UneditableConfig)) throw error;
    throw new UneditableConfig(`${file}: ${error.message}`, error);
  }
  return { client, file, text, name };
}

export const fileOf = (client: McpClient, environment: NodeJS.ProcessEnv): string =>
  client.file({ home: homeOf(environment), platform: process.platform, environment });

export const ownEntry = ({ client, text, name }: ClientFile): ClientEntry | undefined => client.read(text)[name];

/** The token in our entry. */
export function tokenIn(entry: ClientEntry | undefined): string | undefined {
  return /mcpa_[0-9a-f]+_[\w-]+/.exec(JSON.stringify(entry) ?? '')?.[0];
}

export function isCurrent(at: ClientFile, way: Way): boolean {
  return JSON.stringify(sorted(ownEntry(at))) === JSON.stringify(sorted(entryOf(at.client, way)));
}

/** The file with our entry, and without the servers that the aggregator has now. */
export function withAggregator({ client, text, name }: ClientFile, way: Way, moved: readonly ImportPlace[]): string {
  const without = moved.reduce((rest, place) => client.remove(rest, place), text);
  return client.set(without, { key: name }, entryOf(client, way));
}

/** Keeps the first backup, which is the file before any change by us. */
export function writeClientFile({ file, text }: ClientFile, next: string): void {
  mkdirSync(dirname(file), { recursive: true });
  if (existsSync(file) && !existsSync(file + backupSuffix)) {
    writeFileSync(file + backupSuffix, text);
    chmodSync(file + backupSuffix, statSync(file).mode);
  }
  // Set the mode explicitly: an existing file would keep its mode, and other users could read the token.
  replaceFile(file, next, 0o600);
}

/** In one step, so that a crash leaves the file or its successor. Behind a link, as of people who keep their files in Git. */
function replaceFile(file: string, text: string, mode: number): void {
  const target = existsSync(file) ? realpathSync(file) : file;
  const next = `${target}.${process.pid}.new`;
  try {
    writeFileSync(next, text, { mode });
    chmodSync(next, mode);
    renameSync(next, target);
  } catch {
    // The directory takes no new files, or the editor has the file open (Windows).
    rmSync(next, { force: true });
    writeFileSync(target, text);
  }
}

export const hasBackup = ({ file }: ClientFile): boolean => existsSync(file + backupSuffix);

/** The file as it was, byte for byte if it was not changed since; undefined if there was none. */
export function restoredText({ client, file, text, name }: ClientFile): string | undefined {
  const backup = existsSync(file + backupSuffix) ? readFileSync(file + backupSuffix, 'utf8') : undefined;
  const ours = client.read(text)[name];
  const without = client.remove(text, { key: name });
  const others = client.readAll(text).filter(({ place }) => !isOwn(place, name));
  if (backup === undefined) return others.length === 0 && isBare(without) ? undefined : without;
  const isThere = (place: ImportPlace) => others.some((one) => isSamePlace(one.place, place));
  const moved = client.readAll(backup).filter(({ place }) => !isOwn(place, name) && !isThere(place));
  const bare = moved.reduce((rest, { place }) => client.remove(rest, place), backup);
  if (ours !== undefined && client.set(bare, { key: name }, ours) === text) return backup;
  return moved.reduce((rest, { place, entry }) => client.set(rest, place, entry), without);
}

const isOwn = ({ key, project }: ImportPlace, name: string) => key === name && project === undefined;
const isSamePlace = (a: ImportPlace, b: ImportPlace) => a.key === b.key && a.project === b.project;

export function restore(at: ClientFile): void {
  const { file } = at;
  const next = restoredText(at);
  const before = existsSync(file + backupSuffix) ? file + backupSuffix : file;
  if (next === undefined) rmSync(file, { force: true });
  else replaceFile(file, next, statSync(before).mode);
  rmSync(file + backupSuffix, { force: true });
}

/** Only the list that we created. */
const isBare = (text: string) => /^\s*(\{\s*"\w+":\s*\{\s*\}\s*\})?\s*$/.test(text);

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, sorted(part)]),
  );
}

/** The difference, with every value masked that is not ours. */
export function showDifference({ client, file, text, name }: ClientFile, next: string, terminal: Terminal): void {
  if (terminal.json) return;
  terminal.print(terminal.style('bold', file));
  const styles = { '+': 'green', '-': 'red', ' ': 'dim', '…': 'dim' } as const;
  for (const { sign, text: line } of lineDifference(client.mask(text, name), client.mask(next, name))) {
    terminal.print(terminal.style(styles[sign], `${sign} ${line.replace(/(mcpa_[0-9a-f]+_)[\w-]+/g, '$1…')}`));
  }
}

interface MoveContext {
  api: Client;
  environment: NodeJS.ProcessEnv;
}

/** The client's other servers, each with what an import would make of it, or why it stays. */
export function readOtherServers(at: ClientFile, { api: client, environment }: MoveContext): ImportRow[] {
  const { client: known, file: path, text, name } = at;
  if (text.trim() === '') return [];
  const file = { client: known.title, path, dialect: known.dialect };
  const json = parseClientConfig(text, path);
  return rowsOfDocument(file, json, { self: client.url, environment, isNamed: false })
    .filter(({ key }) => key !== name)
    .map((row) => (row.outcome === 'would_register' ? withReasonToStay(row, at) : row));
}

function withReasonToStay(row: ImportRow, { client, text }: ClientFile): ImportRow {
  const stay = (note: string): ImportRow => ({ ...row, outcome: 'skipped', notes: [note] });
  if (row.registration?.auto_connect === false) return stay('it is disabled there');
  if (row.inputs.length > 0) {
    const asked = row.inputs.map(({ description }) => description).join(', ');
    return stay(`the client asks for ${asked}: import it in a terminal`);
  }
  try {
    row.places.reduce((rest, place) => client.remove(rest, place), text);
    return row;
  } catch (error) {
    if (!(error instanceof UneditableConfig)) throw error;
    return stay(error.message);
  }
}

/** Whether it can be taken out without changing anything else. */
export function isRemovable({ client, text }: ClientFile, place: ImportPlace): boolean {
  try {
    client.remove(text, place);
    return true;
  } catch (error) {
    if (!(error instanceof UneditableConfig)) throw error;
    return false;
  }
}

const isConnected = ({ state, twin }: ImportRow) => (twin?.state ?? state)?.isConnected === true;

/** Where the servers stand that are connected in the aggregator now, and so can leave the client. */
export function movablePlaces(rows: readonly ImportRow[]): ImportPlace[] {
  return rows.filter(isConnected).flatMap(({ places }) => places);
}

export function whyItStays({ outcome, notes, state, twin }: ImportRow): string {
  if (outcome === 'skipped' || outcome === 'invalid') return notes.join('; ');
  return (twin?.state ?? state)?.text ?? 'it is not connected';
}

export async function createToken(client: Client, at: ClientFile, profile: string | undefined): Promise<string> {
  const name = `${at.client.title} on ${hostname()}`;
  const { token } = await client.post<{ token: string }>('/api/v1/tokens', { name, role: 'caller', profile });
  return token;
}

/** Of the aggregator, as whom the commands of this user come. */
export async function roleOf(client: Client): Promise<string | undefined> {
  return (await client.get<{ role: string } | undefined>('/api/v1/session'))?.role;
}

/** Throws, with what to do instead, before anything is changed. */
export async function requireTokenCreation(client: Client, id: string): Promise<void> {
  const { creation } = await client.get<{ creation: { allowed: boolean; reason: string | null } }>(
    '/api/v1/tokens?own=true',
  );
  if (creation.allowed) return;
  throw new CommandFailure(
    'denied',
    `${creation.reason}\nTo use your sign-in without a token: mcp-aggregator connect-client ${id} --sign-in`,
  );
}

/** False where it is gone already, or was created by an aggregator that no longer exists. */
export async function revokeToken(client: Client, token: string | undefined): Promise<boolean> {
  const id = /^mcpa_([0-9a-f]+)_/.exec(token ?? '')?.[1];
  if (id === undefined) return false;
  try {
    await client.delete(`/api/v1/tokens/${id}`);
    return true;
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    return false;
  }
}
