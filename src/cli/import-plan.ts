/** The servers in the files of MCP clients on this host, and what an import would make of each. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe } from '../errors.ts';
import { homeOf } from '../home.ts';
import { type ClientConfigFile, dialectOf, findClientConfigs, readClientFile } from '../registry/client-files.ts';
import {
  freeName,
  fromClientConfig,
  type ImportedServer,
  type ImportInput,
  type ImportPlace,
} from '../registry/import.ts';
import type { Registration } from '../registry/server.ts';
import type { ImportAnswer } from './answers.ts';
import { api, type Client } from './client.ts';
import { awaitSettled } from './settled.ts';
import type { Terminal } from './terminal.ts';

/** One server of a file and its planned outcome. */
export interface ImportRow {
  file: ClientConfigFile;
  /** Its name in the file. */
  key: string;
  /** Everywhere that it stands in the file. */
  places: ImportPlace[];
  registration?: Registration;
  outcome: ImportAnswer['results'][number]['outcome'] | 'duplicate';
  /** Its name in the aggregator, as far as it has one. */
  name?: string;
  notes: string[];
  /** What the client would ask its user for and has no answer. */
  inputs: ImportInput[];
  /** The same server, which was found before. */
  twin?: ImportRow;
  /** After the import. */
  state?: { isConnected: boolean; text: string };
}

export interface ReadOptions {
  /** The address of the aggregator. */
  self: string;
  environment: NodeJS.ProcessEnv;
  /** The files were named: one without servers is reported. */
  isNamed: boolean;
  answers?: ReadonlyMap<string, string>;
}

const namedFile = 'file';

/** In place of a name: what is wrong concerns the whole file. */
export const wholeFile = '-';

/** The named files, or the known ones that exist. */
export function chooseFiles(paths: readonly string[], environment: NodeJS.ProcessEnv): ClientConfigFile[] {
  if (paths.length > 0) {
    return paths.map((path) => ({ client: namedFile, path: resolve(path), dialect: dialectOf(resolve(path)) }));
  }
  const place = { home: homeOf(environment), platform: process.platform, cwd: process.cwd(), env: environment };
  const files = findClientConfigs(place).filter(({ path }) => existsSync(path));
  // In the home directory, the files of the user are those of the project, too.
  return files.filter(({ path }, at) => files.findIndex((other) => other.path === path) === at);
}

export function readFiles(files: readonly ClientConfigFile[], options: ReadOptions): ImportRow[] {
  const rows: ImportRow[] = [];
  for (const file of files) rows.push(...rowsOf(file, options, rows));
  return rows;
}

function rowsOf(file: ClientConfigFile, options: ReadOptions, before: readonly ImportRow[]): ImportRow[] {
  try {
    return rowsOfDocument(file, readClientFile(file), options, before);
  } catch (error) {
    // An unreadable file is listed and does not stop the others.
    const notes = [`cannot be read: ${describe(error)}`];
    return [{ file, key: wholeFile, outcome: 'invalid', notes, inputs: [], places: [] }];
  }
}

export function rowsOfDocument(
  file: ClientConfigFile,
  json: unknown,
  { self, environment, isNamed, answers }: ReadOptions,
  before: readonly ImportRow[] = [],
): ImportRow[] {
  const { dialect, project } = file;
  const home = homeOf(environment);
  const isClientFile = file.client !== namedFile;
  const options = { self, dialect, project, home, environment, answers, isClientFile };
  const { servers, problems } = fromClientConfig(json, options);
  const rows = problems
    // Settings files of editors are searched as well and often contain no servers.
    .filter(({ key }) => key !== '' || isNamed)
    .map(({ key, reason, skipped }): ImportRow => {
      const outcome = skipped ? 'skipped' : 'invalid';
      return { file, key: key || wholeFile, outcome, notes: [reason], inputs: [], places: [] };
    });
  for (const server of servers) rows.push(toRow(file, server, [...before, ...rows]));
  return rows;
}

/** Compared by its connection: the same server of another file is the same, another one of that name gets a number. */
function toRow(
  file: ClientConfigFile,
  { key, places, registration, warnings, inputs }: ImportedServer,
  before: readonly ImportRow[],
): ImportRow {
  const others = before.flatMap((row) =>
    row.registration !== undefined && row.outcome !== 'duplicate' ? [{ row, its: row.registration }] : [],
  );
  const connection = (one: Registration) => [one.transport_type, one.connection_config];
  const twin = others.find(({ its }) => isDeepStrictEqual(connection(its), connection(registration)));
  const isOff = registration.auto_connect === false;
  if (twin !== undefined && isOff && twin.its.auto_connect !== false) {
    const notes = [`disabled here, and enabled as ${placeOf(twin.row)}`];
    return { file, key, places, outcome: 'skipped', notes, inputs: [] };
  }
  if (twin?.its.auto_connect === false && !isOff) {
    Object.assign(twin.row, { outcome: 'skipped', registration: undefined, name: undefined, inputs: [] });
    twin.row.notes = [`disabled here, and enabled as ${placeOf({ file, key })}`];
  } else if (twin !== undefined) {
    const notes = [`the same as ${placeOf(twin.row)}`];
    if (!isDeepStrictEqual(twin.its.tool_overrides, registration.tool_overrides))
      notes.push('its choice of tools is not imported, because a server has one choice; use a profile for this client');
    return { file, key, places, registration: twin.its, outcome: 'duplicate', notes, inputs, twin: twin.row };
  }
  const name = freeName(registration.name, (candidate) =>
    others.some(({ row }) => row.registration?.name === candidate),
  );
  const notes = name === registration.name ? warnings : [`another server is named ${registration.name}`, ...warnings];
  return { file, key, places, registration: { ...registration, name }, outcome: 'would_register', name, notes, inputs };
}

const placeOf = ({ file: { client, path }, key }: Pick<ImportRow, 'file' | 'key'>) =>
  `${key} of ${client === namedFile ? path : client}`;

/** Asks the aggregator what it makes of the rows that can be registered, or has it register them. */
export async function sendRows(client: Client, rows: readonly ImportRow[], dryRun: boolean): Promise<void> {
  const wanted = rows.filter((row) => row.outcome === 'would_register');
  if (wanted.length === 0) return;
  const { results } = await client.post<ImportAnswer>(`${api}/servers/import?dry_run=${dryRun}`, {
    servers: wanted.map((row) => row.registration),
  });
  for (const { key, name, outcome, reason, warnings } of results) {
    const row = wanted.find(({ registration }) => registration?.name === key);
    if (row === undefined) continue;
    row.outcome = outcome;
    row.name = name ?? undefined;
    for (const note of [...warnings, reason]) if (note !== null && !row.notes.includes(note)) row.notes.push(note);
  }
}

/** Waits until each of the servers is connected, or has failed. */
export async function awaitRows(client: Client, terminal: Terminal, rows: readonly ImportRow[]): Promise<void> {
  const isAwaited = ({ outcome, registration }: ImportRow) =>
    (outcome === 'registered' || outcome === 'already_exists') && registration?.auto_connect !== false;
  const names = new Set(rows.filter(isAwaited).flatMap(({ name }) => name ?? []));
  let open = names.size;
  const update = (show: (text: string) => void, name: string, text: string) =>
    show(open === 1 ? text : `${open} servers are connecting; ${text || name}`);
  await terminal.progress(`connecting ${open} servers`, (show) =>
    Promise.all(
      [...names].map(async (name) => {
        const server = await awaitSettled(client, name, (text) => update(show, name, text));
        const problem = server.error_message ?? server.discovery_error;
        const isConnected = server.status === 'CONNECTED' || server.status === 'DEGRADED';
        const text = `${server.status}${isConnected ? `, ${server.tool_count} tools` : ''}${problem == null ? '' : `: ${problem}`}`;
        for (const row of rows)
          if (row.name === name) row.state = { isConnected: isConnected && server.discovery_error === undefined, text };
        open -= 1;
      }),
    ),
  );
}
