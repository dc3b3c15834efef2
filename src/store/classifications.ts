import { batches } from './batches.ts';
import { toColumns } from './columns.ts';
import type { Database } from './database.ts';
import type { ClassificationRow } from './schema.ts';

export type KnownClassification = Omit<ClassificationRow, 'used_at'>;

export async function findClassifications(
  { kysely }: Database,
  hashes: readonly string[],
): Promise<KnownClassification[]> {
  const found: KnownClassification[] = [];
  for (const batch of batches(hashes)) {
    const rows = kysely.selectFrom('classifications').select(['content_hash', 'skill_confidences']);
    found.push(...(await rows.where('content_hash', 'in', batch).execute()));
  }
  return found;
}

/** Stores them as used just now, and forgets those that were not used for the longest time beyond `most`. */
export function upsertClassifications(
  { kysely }: Database,
  rows: readonly KnownClassification[],
  { most }: { most: number },
): Promise<void> {
  const used_at = new Date().toISOString();
  // Sorted, because replicas that lock the same rows in different orders would deadlock.
  const ordered = rows.toSorted((a, b) => (a.content_hash < b.content_hash ? -1 : 1));
  return kysely.transaction().execute(async (transaction) => {
    for (const batch of batches(ordered)) {
      await transaction
        .insertInto('classifications')
        .values(batch.map((row) => toColumns({ ...row, used_at })))
        .onConflict((conflict) =>
          conflict.column('content_hash').doUpdateSet((eb) => ({
            skill_confidences: eb.ref('excluded.skill_confidences'),
            used_at: eb.ref('excluded.used_at'),
          })),
        )
        .execute();
    }
    const tooMany = transaction
      .selectFrom('classifications')
      .select('content_hash')
      .orderBy('used_at', 'desc')
      .orderBy('content_hash', 'desc')
      .limit(most)
      .offset(most);
    await transaction.deleteFrom('classifications').where('content_hash', 'in', tooMany).execute();
  });
}
