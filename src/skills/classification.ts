/** One skill given to one tool. */
export interface SkillAssignment {
  skillId: string;
  /** Chance, 0 to 1, that the skill fits the tool. */
  confidence: number;
}

/** BR-004: up to three skills, the surest is the primary one; none where nothing fits. */
export interface Classification {
  skillIds: string[];
  primarySkillId: string | null;
  assignments: SkillAssignment[];
}

const minConfidence = 0.5;
const maxSkills = 3;

/** Keeps what BR-004 saves, from a model or the classifier: highest confidence first, ties by id. */
export function toClassification(assignments: readonly SkillAssignment[]): Classification {
  const kept = assignments
    .filter(({ confidence }) => confidence >= minConfidence)
    .sort((a, b) => b.confidence - a.confidence || (a.skillId < b.skillId ? -1 : 1))
    .slice(0, maxSkills);
  return { skillIds: kept.map(({ skillId }) => skillId), primarySkillId: kept[0]?.skillId ?? null, assignments: kept };
}
