import { batches } from './batches.ts';
import type { Database } from './database.ts';
import type { ToolVectorRow } from './schema.ts';

/** Stores vectors, in place of those the tools had for the same model; tools that are gone by now are left out. */
export function upsertVectors({ kysely }: Database, vectors: readonly ToolVectorRow[]): Promise<void> {
  return kysely.transaction().execute(async (transaction) => {
    for (const batch of batches(vectors)) {
      const ids = batch.map((vector) => vector.tool_id);
      const tools = await transaction.selectFrom('tools').select('id').where('id', 'in', ids).execute();
      const present = new Set(tools.map((tool) => tool.id));
      const rows = batch.filter((vector) => present.has(vector.tool_id));
      if (rows.length === 0) continue;
      await transaction
        .insertInto('tool_vectors')
        .values(rows)
        .onConflict((conflict) =>
          conflict.columns(['tool_id', 'model']).doUpdateSet((eb) => ({
            content_hash: eb.ref('excluded.content_hash'),
            vector: eb.ref('excluded.vector'),
          })),
        )
        .execute();
    }
  });
}

export function findVectors({ kysely }: Database, model: string): Promise<ToolVectorRow[]> {
  return kysely.selectFrom('tool_vectors').selectAll().where('model', '=', model).orderBy('tool_id').execute();
}

/** Deletes the vectors of a previous model. */
export async function deleteVectorsOfOtherModels({ kysely }: Database, models: readonly string[]): Promise<void> {
  await kysely.deleteFrom('tool_vectors').where('model', 'not in', models).execute();
}
