/**
 * What becomes of a tool that changed after it was first seen. `allow`: the new definition holds, the change is
 * recorded. `review`: the old definition stays listed and calls are held until an admin approves. A tool that was
 * taken away is remembered, so that coming back with another definition is a change and not a new tool.
 */
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Database } from '../store/database.ts';
import type { ToolChangeRow, ToolRow } from '../store/schema.ts';
import { createStoredCollection } from '../store/stored-collection.ts';
import { findStandingChanges, insertToolChanges, type NewToolChange, updateToolChange } from '../store/tool-changes.ts';
import { type DiscoveredTool, definitionHash, type ToolChanges } from '../store/tools.ts';
import { createTimeSlice } from '../time-slice.ts';
import type { CatalogTool } from './catalog.ts';
import { classifyChange, scanTool, type Warning } from './tool-changes.ts';

export interface ChangeReview {
  /** The definitions that may be stored of those that a server offers. */
  settle(server: Server, stored: readonly ToolRow[], offered: readonly DiscoveredTool[]): Promise<DiscoveredTool[]>;
  /** Records what was stored, and warnings about it. */
  record(server: Server, changes: ToolChanges): Promise<void>;
  /** Throws where a change of the tool waits for an admin or was rejected. */
  requireReviewed(tool: CatalogTool): void;
  heldChange(tool: CatalogTool): { id: number; state: 'pending' | 'rejected'; risk: string } | undefined;
  warnings(tool: CatalogTool): readonly Warning[];
  /** Takes effect with the next discovery; undefined when the change is not waiting for a decision. */
  decide(
    change: ToolChangeRow,
    decision: 'approved' | 'rejected',
    given: { by: string; reason?: string | null },
  ): Promise<ToolChangeRow | undefined>;
  /** Reads what stands about a server again, after another replica changed it. */
  reload(serverId: string): Promise<void>;
  forget(serverId: string): void;
  readonly pending: number;
}

interface ChangeReviewDependencies {
  db: Database;
  registry: Registry;
  policy: 'allow' | 'review';
  changes: Changes;
}

/** By the tool's name. */
type StandingOfServer = Map<string, Standing>;
type Standing = Pick<ToolChangeRow, 'id' | 'state' | 'after_hash' | 'risk' | 'definition_before'>;

const warningsKept = 50_000;

export async function createChangeReview(deps: ChangeReviewDependencies): Promise<ChangeReview> {
  const { db, registry, policy } = deps;
  const standing = await createStoredCollection<string, StandingOfServer>({
    async load(serverId) {
      const loaded = new Map<string, StandingOfServer>();
      for (const change of await findStandingChanges(db, serverId)) remember(loaded, change);
      return loaded;
    },
  });
  const scanned = new Map<string, readonly Warning[]>();

  const insert = (serverId: string, changes: readonly NewToolChange[]) =>
    standing.change(async (entries) => {
      const rows = await insertToolChanges(db, serverId, changes);
      for (const row of rows) remember(entries, row);
      return rows;
    });

  const withdraw = (serverId: string, tool: string, change: Standing) =>
    standing.change(async (entries) => {
      await updateToolChange(db, change.id, ['pending', 'rejected', 'removed'], 'withdrawn', { by: 'the server' });
      entries.get(serverId)?.delete(tool);
    });

  async function settle(
    server: Server,
    stored: readonly ToolRow[],
    offered: readonly DiscoveredTool[],
  ): Promise<DiscoveredTool[]> {
    // Another replica's admin may have decided meanwhile.
    await standing.reload(server.id);
    const known = new Map(stored.map((row) => [row.original_name, row]));
    const settled: DiscoveredTool[] = [];
    const slice = createTimeSlice();
    for (const tool of offered) {
      await slice.giveWay();
      const change = standing.entries.get(server.id)?.get(tool.original_name);
      const trusted = known.get(tool.original_name) ?? formerTool(tool, change);
      settled.push(await settleOne(server, trusted, tool, change));
    }
    return settled;
  }

  async function settleOne(
    server: Server,
    trusted: DiscoveredTool | undefined,
    offered: DiscoveredTool,
    change: Standing | undefined,
  ): Promise<DiscoveredTool> {
    const name = offered.original_name;
    const undecided = change !== undefined && change.state !== 'approved' ? change : undefined;
    if (trusted === undefined) return offered;
    const same = trusted.definition_hash === offered.definition_hash;
    if (policy === 'allow' || same) {
      if (undecided !== undefined) await withdraw(server.id, name, undecided);
      // One that is still stored is recorded when it is stored anew.
      if (!same && undecided?.state === 'removed') await recordAllowed(server, [{ before: trusted, after: offered }]);
      return offered;
    }
    if (change?.after_hash === offered.definition_hash) {
      return change.state === 'approved' ? offered : asDiscovered(trusted);
    }
    if (undecided !== undefined) await withdraw(server.id, name, undecided);
    const { risk, parts } = classifyChange(trusted.definition, offered.definition);
    const rows = await insert(server.id, [toNew(server, trusted, offered, risk, 'pending')]);
    registry.record(server.id, 'TOOL_CHANGE_HELD', { tool: offered.name, change_id: rows[0]?.id, risk, parts });
    return asDiscovered(trusted);
  }

  async function record(server: Server, changes: ToolChanges): Promise<void> {
    const own = standing.entries.get(server.id);
    await recordAllowed(
      server,
      changes.changed.filter(({ after }) => own?.get(after.original_name)?.after_hash !== after.definition_hash),
    );
    for (const { original_name: name } of changes.removed) {
      const change = own?.get(name);
      if (change !== undefined && change.state !== 'approved') await withdraw(server.id, name, change);
    }
    const removed = changes.removed.map((row) => toNew(server, row, null, 'removed_tool', 'removed'));
    await insert(server.id, removed);
    const slice = createTimeSlice();
    for (const row of [...changes.added, ...changes.changed.map(({ after }) => after)]) {
      await slice.giveWay();
      const warnings = warningsOf(row);
      if (warnings.length > 0) registry.record(server.id, 'TOOL_WARNING', { tool: row.name, warnings });
    }
  }

  async function recordAllowed(
    server: Server,
    changes: readonly { before: DiscoveredTool; after: DiscoveredTool }[],
  ): Promise<void> {
    const rows: NewToolChange[] = [];
    const slice = createTimeSlice();
    for (const { before, after } of changes) {
      await slice.giveWay();
      const { risk } = classifyChange(before.definition, after.definition);
      rows.push({ ...toNew(server, before, after, risk, 'approved'), decided_by: 'policy' });
    }
    await insert(server.id, rows);
  }

  function warningsOf({ definition, definition_hash: hash }: ToolRow): readonly Warning[] {
    const known = scanned.get(hash);
    if (known !== undefined) return known;
    if (scanned.size >= warningsKept) scanned.clear();
    const warnings = scanTool(definition);
    scanned.set(hash, warnings);
    return warnings;
  }

  function heldChange({ server, row }: CatalogTool) {
    if (policy === 'allow') return undefined;
    const change = standing.entries.get(server.id)?.get(row.original_name);
    if (change?.state !== 'pending' && change?.state !== 'rejected') return undefined;
    return { id: change.id, state: change.state, risk: change.risk };
  }

  return {
    settle,
    record,
    heldChange,
    warnings: ({ listed }) => warningsOf(listed),
    requireReviewed(tool) {
      const held = heldChange(tool);
      if (held === undefined) return;
      const what = held.state === 'pending' ? 'is waiting for approval by an admin' : 'was rejected by an admin';
      throw new AppError('TOOL_CHANGE_PENDING', `The tool ${tool.row.name} changed, and the change ${what}`, {
        context: { change_id: held.id, state: held.state, risk: held.risk, server_id: tool.server.id },
      });
    },
    async decide(change, decision, given) {
      const from = decision === 'approved' ? (['pending', 'rejected'] as const) : (['pending'] as const);
      const decided = await standing.change(async (entries) => {
        const row = await updateToolChange(db, change.id, from, decision, given);
        if (row !== undefined) remember(entries, row);
        return row;
      });
      if (decided !== undefined) deps.changes.publish('tools.stored', { server_id: decided.server_id });
      return decided;
    },
    reload: (serverId) => standing.reload(serverId),
    forget: (serverId) => void standing.change(async (entries) => entries.delete(serverId)),
    get pending() {
      if (policy === 'allow') return 0;
      let count = 0;
      for (const own of standing.entries.values())
        for (const { state } of own.values()) count += state === 'pending' ? 1 : 0;
      return count;
    },
  };
}

function remember(entries: Map<string, StandingOfServer>, change: ToolChangeRow): void {
  const own = entries.get(change.server_id) ?? new Map();
  entries.set(change.server_id, own.set(change.tool, change));
}

function toNew(
  server: Server,
  before: DiscoveredTool,
  after: DiscoveredTool | null,
  risk: string,
  state: NewToolChange['state'],
): NewToolChange {
  return {
    server_id: server.id,
    tool: before.original_name,
    definition_before: before.definition,
    definition_after: after?.definition ?? null,
    after_hash: after?.definition_hash ?? null,
    risk,
    state,
  };
}

/** A tool that is not stored any more, as it was before the server took it away. */
function formerTool(offered: DiscoveredTool, change: Standing | undefined): DiscoveredTool | undefined {
  if (change?.state !== 'removed') return undefined;
  const { definition_before: definition } = change;
  const { description, inputSchema, title } = definition as {
    description?: string;
    inputSchema?: never;
    title?: string;
  };
  return {
    ...offered,
    title: title ?? null,
    description: description ?? null,
    input_schema: inputSchema ?? { type: 'object' },
    definition,
    definition_hash: definitionHash(definition),
  };
}

function asDiscovered(tool: DiscoveredTool): DiscoveredTool {
  const { name, original_name, title, description, input_schema, definition, definition_hash } = tool;
  return { name, original_name, title, description, input_schema, definition, definition_hash };
}
