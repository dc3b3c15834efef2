/** Caches classifications by the input of the model, so that no definition is paid for twice. */
import { findClassifications, type KnownClassification, upsertClassifications } from '../store/classifications.ts';
import type { Database } from '../store/database.ts';
import { type Classification, toClassification } from './classification.ts';
import type { ClassifyBatch, ModelClassifier } from './classifier-model.ts';
import type { Skill } from './taxonomy.ts';
import type { ToolToClassify } from './tool-to-classify.ts';

/** Twice the maximum number of tools, so that a taxonomy change can be reverted without new requests. */
const maxRemembered = 20_000;

type ByKey = Map<string, KnownClassification>;

/** Sends only tools to the model that are not in the cache of the database. */
export function rememberClassifications(db: Database, { keyOf, classify }: ModelClassifier): ClassifyBatch {
  /** Requests in flight, because batches run concurrently and servers may have the same tools. */
  const underWay = new Map<string, Promise<ByKey>>();

  return async (tools, skills, signal) => {
    const keyed = tools.map((tool) => ({ key: keyOf(tool, skills), tool }));
    const own = new Map(keyed.filter(({ key }) => !underWay.has(key)).map(({ key, tool }) => [key, tool]));
    const answered = own.size === 0 ? undefined : answer(own, skills, signal);
    if (answered !== undefined) for (const key of own.keys()) underWay.set(key, answered);
    try {
      const batches = await Promise.all(new Set(keyed.flatMap(({ key }) => underWay.get(key) ?? [])));
      const rows: ByKey = new Map(batches.flatMap((batch) => [...batch]));
      return new Map(
        keyed.flatMap(({ key, tool }): [number, Classification][] => {
          const row = rows.get(key);
          return row === undefined ? [] : [[tool.id, fromRow(row)]];
        }),
      );
    } finally {
      for (const key of own.keys()) underWay.delete(key);
    }
  };

  async function answer(tools: Map<string, ToolToClassify>, skills: Skill[], signal: AbortSignal): Promise<ByKey> {
    const known = await findClassifications(db, [...tools.keys()]);
    const rows: ByKey = new Map(known.map((row) => [row.content_hash, row]));
    const unknown = [...tools].filter(([key]) => !rows.has(key));
    if (unknown.length > 0) {
      const answers = await classify(
        unknown.map(([, tool]) => tool),
        skills,
        signal,
      );
      for (const [key, { id }] of unknown) {
        const classification = answers.get(id);
        if (classification !== undefined) rows.set(key, toRow(key, classification));
      }
    }
    await upsertClassifications(db, [...rows.values()], { most: maxRemembered });
    return rows;
  }
}

function toRow(content_hash: string, { assignments }: Classification): KnownClassification {
  const skill_confidences = Object.fromEntries(assignments.map(({ skillId, confidence }) => [skillId, confidence]));
  return { content_hash, skill_confidences };
}

function fromRow({ skill_confidences }: KnownClassification): Classification {
  const assignments = Object.entries(skill_confidences);
  return toClassification(assignments.map(([skillId, confidence]) => ({ skillId, confidence })));
}
