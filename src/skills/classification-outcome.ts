/** What came of classifying a tool, and what it changes in the tool's row. Pure. */
import type { ToolRow } from '../store/schema.ts';
import type { ToolSkills } from '../store/tools.ts';
import type { Classification } from './classification.ts';

/** The skills that a tool was given; null where it could not be classified yet. */
export type Outcome = Omit<ToolSkills, 'id'> | null;

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
    else if (outcome.primary_skill_id === null) unfit.push(id);
    else fitting.push({ id, ...outcome });
  }
  return { fitting, unfit, notYet };
}

/** The rows that have an outcome, as they are stored from now on. A tool that no skill fits is classified, too. */
export function toClassifiedRows(rows: readonly ToolRow[], outcomes: ReadonlyMap<number, Outcome>): ToolRow[] {
  return rows.flatMap((row): ToolRow[] => {
    const outcome = outcomes.get(row.id);
    if (outcome === undefined) return [];
    const state =
      outcome === null
        ? ({ is_classified: false, classification_state: 'UNCLASSIFIED' } as const)
        : ({ is_classified: true, classification_state: 'CLASSIFIED' } as const);
    return [{ ...row, ...outcome, ...state }];
  });
}
