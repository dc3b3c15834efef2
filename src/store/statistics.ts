import type { Database } from './database.ts';
import type { StatisticsRow } from './schema.ts';

/** Counts so far: a row that exists is replaced. */
export async function upsertStatistics({ kysely }: Database, rows: readonly StatisticsRow[]): Promise<void> {
  await kysely.transaction().execute(async (transaction) => {
    for (const { counts, ...key } of rows) {
      const text = JSON.stringify(counts);
      await transaction
        .insertInto('statistics')
        .values({ ...key, counts: text })
        .onConflict((conflict) =>
          conflict.columns(['step', 'dimension', 'slot', 'replica']).doUpdateSet({ counts: text }),
        )
        .execute();
    }
  });
}

/** The slots of a range, those of all replicas. */
export async function findStatistics(
  { kysely }: Database,
  { step, dimension, from, to }: { step: number; dimension: string; from: number; to: number },
): Promise<StatisticsRow[]> {
  const rows = await kysely
    .selectFrom('statistics')
    .selectAll()
    .where('step', '=', step)
    .where('dimension', '=', dimension)
    .where('slot', '>=', from)
    .where('slot', '<', to)
    .orderBy('slot')
    .execute();
  return rows.map((row) => ({ ...row, slot: Number(row.slot) }));
}

export async function deleteStatisticsBefore({ kysely }: Database, step: number, slot: number): Promise<void> {
  await kysely.deleteFrom('statistics').where('step', '=', step).where('slot', '<', slot).execute();
}
