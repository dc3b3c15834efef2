import { createHash } from 'node:crypto';
import type { Transaction } from 'kysely';
import { AppError } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import { batches } from './batches.ts';
import { toColumns } from './columns.ts';
import type { Database } from './database.ts';
import type { ClassificationState, DatabaseSchema, ToolRow } from './schema.ts';
import { lockedTransaction } from './transaction.ts';

/** A tool as discovery found it; everything else on the row is ours. */
export type DiscoveredTool = Pick<
  ToolRow,
  'name' | 'original_name' | 'title' | 'description' | 'input_schema' | 'definition' | 'definition_hash'
>;

export interface ToolChanges {
  added: ToolRow[];
  changed: { before: ToolRow; after: ToolRow }[];
  removed: ToolRow[];
  unchanged: ToolRow[];
}

/**
 * Makes the stored tools of a server equal to what it lists now, in one transaction and in batches (EC-006). A tool
 * whose definition is the same keeps its id and classification; one that changed keeps its id and is classified anew.
 */
export async function replaceServerTools(
  db: Database,
  serverId: string,
  tools: readonly DiscoveredTool[],
  { maxPerServer, maxTotal }: { maxPerServer: number; maxTotal: number },
): Promise<ToolChanges> {
  // BR-003: a name that a server lists twice is one tool, and the later definition holds.
  const listed = [...new Map(tools.map((tool) => [tool.original_name, tool])).values()].slice(0, maxPerServer);
  const now = new Date().toISOString();

  return lockedTransaction(db, 'tools', async (transaction) => {
    await updateToolCount(transaction, serverId, listed.length, now);
    const stored = await transaction.selectFrom('tools').selectAll().where('source_server_id', '=', serverId).execute();
    const total = (await countTools(transaction)) - stored.length + listed.length;
    if (total > maxTotal)
      throw limitReached(`${maxTotal} tools in total, this server would increase the number to ${total}`);

    const plan = planChanges(stored, listed, serverId, now);
    for (const batch of batches(plan.removed)) {
      const ids = batch.map((tool) => tool.id);
      await transaction.deleteFrom('tools').where('id', 'in', ids).execute();
    }
    const saved = new Map<string, ToolRow>();
    for (const batch of batches(plan.written)) {
      for (const row of await upsertTools(transaction, batch)) saved.set(row.original_name, row);
    }

    const changes: ToolChanges = { added: [], changed: [], removed: plan.removed, unchanged: [] };
    for (const { original_name } of listed) {
      const before = plan.storedByName.get(original_name);
      const after = saved.get(original_name) ?? before;
      if (after === undefined) continue;
      if (before === undefined) changes.added.push(after);
      else if (before.definition_hash !== after.definition_hash) changes.changed.push({ before, after });
      else changes.unchanged.push(after);
    }
    return changes;
  });
}

export function findTools({ kysely }: Database): Promise<ToolRow[]> {
  return kysely.selectFrom('tools').selectAll().orderBy('name').execute();
}

export function findServerTools({ kysely }: Database, serverId: string): Promise<ToolRow[]> {
  return kysely.selectFrom('tools').selectAll().where('source_server_id', '=', serverId).orderBy('name').execute();
}

export interface ToolSkills {
  id: number;
  skill_ids: string[];
  primary_skill_id: string | null;
  skill_confidences: Record<string, number>;
}

/** The result of a classification (BR-004): the tools are classified from here on. */
export function updateToolSkills({ kysely }: Database, tools: readonly ToolSkills[]): Promise<void> {
  return kysely.transaction().execute(async (transaction) => {
    for (const { id, ...skills } of tools) {
      await transaction
        .updateTable('tools')
        .set({ ...toColumns(skills), is_classified: true, classification_state: 'CLASSIFIED' })
        .where('id', '=', id)
        .execute();
    }
  });
}

/** A tool that is being classified again keeps the skills it has until the new ones are known. */
export async function updateClassificationState(
  { kysely }: Database,
  ids: readonly number[],
  state: Exclude<ClassificationState, 'CLASSIFIED'>,
): Promise<void> {
  const columns = state === 'CLASSIFYING' ? {} : { is_classified: false };
  for (const batch of batches(ids)) {
    await kysely
      .updateTable('tools')
      .set({ classification_state: state, ...columns })
      .where('id', 'in', batch)
      .execute();
  }
}

/** No skill fits: the tools are classified, and lose their previous skills. */
export async function clearToolSkills({ kysely }: Database, ids: readonly number[]): Promise<void> {
  const none = toColumns({ skill_ids: [], primary_skill_id: null, skill_confidences: {} });
  for (const batch of batches(ids)) {
    await kysely
      .updateTable('tools')
      .set({ ...none, classification_state: 'CLASSIFIED', is_classified: true })
      .where('id', 'in', batch)
      .execute();
  }
}

/** A hash that does not depend on the order of keys. */
export function definitionHash(definition: JsonObject): string {
  const canonical = JSON.stringify(definition, (_key, value: unknown) =>
    isObject(value) && !JSON.isRawJSON(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash('sha256').update(canonical).digest('hex');
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type ToolValues = Omit<ToolRow, 'id'>;

function planChanges(stored: ToolRow[], listed: readonly DiscoveredTool[], serverId: string, now: string) {
  const storedByName = new Map(stored.map((tool) => [tool.original_name, tool]));
  const names = new Set(listed.map((tool) => tool.original_name));
  const written: ToolValues[] = [];
  for (const [position, tool] of listed.entries()) {
    const before = storedByName.get(tool.original_name);
    if (before?.definition_hash !== tool.definition_hash) {
      written.push({ ...tool, ...unclassified, ...ownedBy(serverId), position, ...datedSince(before, now) });
    } else if (before.position !== position) {
      const { id: _id, ...values } = before;
      written.push({ ...values, position });
    }
  }
  return { storedByName, written, removed: stored.filter((tool) => !names.has(tool.original_name)) };
}

const unclassified = {
  is_classified: false,
  skill_ids: [],
  primary_skill_id: null,
  skill_confidences: {},
  classification_state: 'DISCOVERED',
} satisfies Partial<ToolRow>;

const ownedBy = (serverId: string) => ({ source_server_id: serverId, is_external: true });

const datedSince = (before: ToolRow | undefined, now: string) => ({
  discovered_at: before?.discovered_at ?? now,
  updated_at: now,
});

function upsertTools(transaction: Transaction<DatabaseSchema>, tools: readonly ToolValues[]): Promise<ToolRow[]> {
  return transaction
    .insertInto('tools')
    .values(tools.map(toColumns))
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet((eb) => ({
        title: eb.ref('excluded.title'),
        description: eb.ref('excluded.description'),
        input_schema: eb.ref('excluded.input_schema'),
        definition: eb.ref('excluded.definition'),
        definition_hash: eb.ref('excluded.definition_hash'),
        is_classified: eb.ref('excluded.is_classified'),
        skill_ids: eb.ref('excluded.skill_ids'),
        primary_skill_id: eb.ref('excluded.primary_skill_id'),
        skill_confidences: eb.ref('excluded.skill_confidences'),
        classification_state: eb.ref('excluded.classification_state'),
        position: eb.ref('excluded.position'),
        updated_at: eb.ref('excluded.updated_at'),
      })),
    )
    .returningAll()
    .execute();
}

async function updateToolCount(
  transaction: Transaction<DatabaseSchema>,
  serverId: string,
  count: number,
  now: string,
): Promise<void> {
  const { numUpdatedRows } = await transaction
    .updateTable('external_servers')
    .set({ tool_count: count, updated_at: now })
    .where('id', '=', serverId)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw new AppError('SERVER_NOT_FOUND', `Server not found: ${serverId}`);
}

async function countTools(transaction: Transaction<DatabaseSchema>): Promise<number> {
  const query = transaction.selectFrom('tools').select((eb) => eb.fn.countAll<number>().as('count'));
  return (await query.executeTakeFirstOrThrow()).count;
}

function limitReached(reason: string): AppError {
  return new AppError('TOOL_LIMIT_REACHED', `Tool limit reached: ${reason}`);
}
