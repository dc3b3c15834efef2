/** What came of classifying a tool, and what it changes in the tool's row. Pure. */
import { isObject, type JsonObject } from '../json-rpc.ts';
import type { ToolRow } from '../store/schema.ts';
import type { ToolSkills } from '../store/tools.ts';
import type { ToolToClassify } from './classifier-model.ts';
import type { Classification } from './classify.ts';

/** The skills that a tool was given; null where it could not be classified yet. */
export type Outcome = Omit<ToolSkills, 'id'> | null;

/** No skill fits. */
export const unclassified: NonNullable<Outcome> = { skill_ids: [], primary_skill_id: null, skill_confidences: {} };

/** Where the tool describes itself its server's name adds little, and without it the same tool elsewhere is the same. */
export function toToolToClassify({ id, name, original_name, description, input_schema }: ToolRow): ToolToClassify {
  const parameters = summarizeParameters(input_schema);
  return { id, name: description ? original_name : name, description: description ?? '', parameters };
}

function summarizeParameters({ properties, required }: JsonObject): string {
  if (!isObject(properties)) return '';
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  return Object.entries(properties)
    .map(([name, schema]) => {
      const type = isObject(schema) && typeof schema.type === 'string' ? schema.type : 'any';
      return `${name}${isRequired(name) ? '' : '?'}: ${type}`;
    })
    .join(', ');
}

export function toOutcome({ skillIds, primarySkillId, assignments }: Classification): NonNullable<Outcome> {
  const skill_confidences = Object.fromEntries(assignments.map(({ skillId, confidence }) => [skillId, confidence]));
  return { skill_ids: skillIds, primary_skill_id: primarySkillId, skill_confidences };
}

/** By the statement that stores them. */
export function sortOutcomes(outcomes: ReadonlyMap<number, Outcome>) {
  const fitting: ToolSkills[] = [];
  const unfit: number[] = [];
  const notYet: number[] = [];
  for (const [id, outcome] of outcomes) {
    if (outcome === null) notYet.push(id);
    else if (outcome === unclassified) unfit.push(id);
    else fitting.push({ id, ...outcome });
  }
  return { fitting, unfit, notYet };
}

/** The rows that have an outcome, as they are stored from now on. */
export function toClassifiedRows(rows: readonly ToolRow[], outcomes: ReadonlyMap<number, Outcome>): ToolRow[] {
  return rows.flatMap((row): ToolRow[] => {
    const outcome = outcomes.get(row.id);
    if (outcome === undefined) return [];
    const isClassified = outcome !== null && outcome !== unclassified;
    return [
      {
        ...row,
        ...outcome,
        is_classified: isClassified,
        classification_state: isClassified ? 'CLASSIFIED' : 'UNCLASSIFIED',
      },
    ];
  });
}
