/** `--config servers.json`: the servers of a file are registered, and kept in step with it while we run. */
import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Audit } from '../security/audit.ts';
import { parseClientConfig } from './client-files.ts';
import { fromClientConfig } from './import.ts';
import type { Registry, Server } from './registry.ts';
import type { Connection, Registration, ServerPatch } from './server.ts';

interface ConfigFileDependencies {
  path: string;
  registry: Registry;
  /** Changes a server's record and its connection together. */
  fleet: {
    register(input: Registration, how: { origin: 'config'; from: 'local' }): Promise<unknown>;
    update(id: string, patch: ServerPatch, from: 'local'): Promise<unknown>;
    remove(id: string): Promise<unknown>;
    connect(id: string): Promise<unknown>;
    disconnect(id: string, options: { force: boolean }): Promise<unknown>;
  };
  audit: Audit;
  log: Logger;
  /** Takes `serverRules` of the file; throws where they are not valid. */
  setServerRules?: (rules: unknown) => Promise<void>;
}

interface ConfigFile {
  /** Resolves when what was seen of the file so far is applied. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Editors write a file in several steps; a change is read when it has been quiet for so long. */
const quietMs = 200;

export async function createConfigFile(deps: ConfigFileDependencies): Promise<ConfigFile> {
  const { path, registry, fleet, audit, log } = deps;
  let applying: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let lastText: string | undefined;

  async function apply(): Promise<void> {
    if (closed) return;
    const json = read();
    if (json === undefined) return;
    await applyRules(json);
    const wanted = toWanted(json);
    if (wanted === undefined) return;
    const current = registry.list().map((server) => toCurrent(server, registry));
    for (const step of plan(wanted, current)) {
      if (closed) return;
      if (step.kind === 'taken') {
        log.warn(
          { file: path, server: step.name },
          'config file: skipped a server whose name is already registered outside the file',
        );
        continue;
      }
      try {
        await perform(step);
        await audit.recordNow({ event: auditEvents[step.kind], actor: 'config file', server_name: step.name });
        log.info({ file: path, server: step.name, change: step.kind }, 'config file applied');
      } catch (error) {
        // A server that cannot be registered must not keep the others of the file from it.
        log.error(
          { file: path, server: step.name, change: step.kind, reason: describe(error) },
          'config file: could not apply a server',
        );
      }
    }
  }

  /** Undefined where nothing is new, or nothing can be read. */
  function read(): unknown {
    try {
      const text = readFileSync(path, 'utf8');
      if (text === lastText) return undefined;
      const json = parseClientConfig(text, path);
      lastText = text;
      return json;
    } catch (error) {
      log.error({ file: path, reason: describe(error) }, 'could not read the config file; the servers are unchanged');
      return undefined;
    }
  }

  async function applyRules(json: unknown): Promise<void> {
    if (typeof json !== 'object' || json === null || !('serverRules' in json)) return;
    try {
      await deps.setServerRules?.(json.serverRules);
      await audit.recordNow({ event: 'query.rules', actor: 'config file' });
    } catch (error) {
      // Wrong rules must not keep the servers of the file from being applied.
      log.error({ file: path, reason: describe(error) }, 'config file: invalid serverRules; the rules are unchanged');
    }
  }

  function toWanted(json: unknown): Registration[] | undefined {
    const { servers, problems } = fromClientConfig(json);
    if (servers.length === 0 && problems.some(({ key }) => key === '')) {
      // A file of settings alone asks for no servers; it does not ask to remove any.
      if (!hasSettingsOnly(json))
        log.error({ file: path, reason: problems[0]?.reason }, 'config file lists no servers');
      return undefined;
    }
    for (const { key, reason } of problems)
      log.error({ file: path, server: key, reason }, 'config file: invalid server');
    for (const { key, warnings } of servers) {
      if (warnings.length > 0) log.warn({ file: path, server: key, warnings }, 'config file: a server was adapted');
    }
    // A server whose entry is wrong right now keeps running as it was.
    return [...servers.map(({ registration }) => registration), ...unchanged(problems.map(({ key }) => key))];
  }

  function unchanged(names: string[]): Registration[] {
    return registry
      .list()
      .filter((server) => server.origin === 'config' && names.includes(server.name))
      .map((server) => toCurrent(server, registry).registration);
  }

  async function perform(step: Exclude<ConfigStep, { kind: 'taken' }>): Promise<void> {
    if (step.kind === 'add') await fleet.register(step.registration, { origin: 'config', from: 'local' });
    if (step.kind === 'remove') await fleet.remove(step.id);
    if (step.kind !== 'change') return;
    await fleet.update(step.id, step.patch, 'local');
    // Switched on or off in the file: unlike an admin's, this change has no connect or disconnect of its own.
    if (step.patch.auto_connect === true) await fleet.connect(step.id);
    if (step.patch.auto_connect === false) await fleet.disconnect(step.id, { force: false });
  }

  function readSoon(): void {
    clearTimeout(timer);
    timer = setTimeout(() => {
      applying = applying.then(apply);
    }, quietMs);
  }

  // The directory is watched, not the file: an atomic replace puts another file in its place.
  const watcher: FSWatcher = watch(dirname(path), { persistent: false }, (_event, name) => {
    // Kubernetes swaps the link `..data` beneath a mounted file, whose own name never changes.
    if (name === null || isSameName(name, basename(path)) || name.startsWith('..')) readSoon();
  });
  watcher.on('error', (error) => log.error({ file: path, err: error }, 'config file is no longer watched'));
  applying = apply();
  await applying;

  return {
    settled: () => applying,
    async close() {
      closed = true;
      clearTimeout(timer);
      watcher.close();
      await applying;
    },
  };
}

/** The file systems of Windows and macOS do not tell upper case from lower case. */
const isSameName = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();

const auditEvents = { add: 'server.registered', change: 'server.updated', remove: 'server.removed' } as const;

interface Current {
  id: string;
  origin: Server['origin'];
  registration: Registration;
}

type ConfigStep =
  | { kind: 'add'; name: string; registration: Registration }
  | { kind: 'change'; name: string; id: string; patch: ServerPatch }
  | { kind: 'remove'; name: string; id: string }
  | { kind: 'taken'; name: string };

/** What turns the servers that came from the file into those that it lists now; servers from elsewhere are not touched. */
export function plan(wanted: readonly Registration[], current: readonly Current[]): ConfigStep[] {
  const byName = new Map(current.map((server) => [server.registration.name, server]));
  const names = new Set(wanted.map(({ name }) => name));
  const gone = current.filter(({ origin, registration }) => origin === 'config' && !names.has(registration.name));
  return [
    ...gone.map(({ id, registration }): ConfigStep => ({ kind: 'remove', name: registration.name, id })),
    ...wanted.flatMap((registration): ConfigStep[] => {
      const { name } = registration;
      const existing = byName.get(name);
      if (existing === undefined) return [{ kind: 'add', name, registration }];
      if (existing.origin !== 'config') return [{ kind: 'taken', name }];
      const patch = difference(registration, existing.registration);
      return Object.keys(patch).length === 0 ? [] : [{ kind: 'change', name, id: existing.id, patch }];
    }),
  ];
}

/** Only what differs: a server is not reconnected because its description changed. */
function difference(wanted: Registration, current: Registration): ServerPatch {
  const patch: ServerPatch = {};
  const connection = (from: Registration) => [from.transport_type, from.connection_config];
  if (!isDeepStrictEqual(connection(wanted), connection(current))) {
    patch.transport_type = wanted.transport_type;
    patch.connection_config = { ...wanted.connection_config };
  }
  if ((wanted.description ?? null) !== (current.description ?? null)) patch.description = wanted.description ?? null;
  if ((wanted.health_check_url ?? null) !== (current.health_check_url ?? null)) {
    patch.health_check_url = wanted.health_check_url ?? null;
  }
  if ((wanted.auto_connect ?? true) !== (current.auto_connect ?? true))
    patch.auto_connect = wanted.auto_connect ?? true;
  if (!isDeepStrictEqual(wanted.options ?? {}, current.options ?? {})) patch.options = wanted.options ?? {};
  if (!isDeepStrictEqual(wanted.tool_overrides ?? {}, current.tool_overrides ?? {})) {
    patch.tool_overrides = wanted.tool_overrides ?? {};
  }
  return patch;
}

function toCurrent(server: Server, registry: Registry): Current {
  const { id, origin, name, description, health_check_url, auto_connect, options, tool_overrides } = server;
  const connection: Connection = registry.openConnection(id);
  return {
    id,
    origin,
    registration: { name, ...connection, description, health_check_url, auto_connect, options, tool_overrides },
  };
}

function hasSettingsOnly(json: unknown): boolean {
  return typeof json === 'object' && json !== null && ('settings' in json || 'serverRules' in json);
}
