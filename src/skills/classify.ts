import { dot } from '../similarity/cosine.ts';

/** One skill given to one tool. */
interface SkillAssignment {
  skillId: string;
  /** Chance, 0 to 1, that the skill fits the tool. */
  confidence: number;
}

/** BR-004: one to three skills of at least 0.5, the surest is the primary one. */
export interface Classification {
  skillIds: string[];
  primarySkillId: string | null;
  assignments: SkillAssignment[];
}

interface SkillPrototype {
  id: string;
  vector: Float32Array;
}

const minConfidence = 0.5;
const maxSkills = 3;

// Fitted on 11,218 public tools whose server declares a category: what counts is the lead over the average skill, since
// some texts are near to everything. Categories belong to servers, not to tools, so even the clearest case agrees with
// its label only in `agreement` of all cases; dividing by it gives the confidence of the skill itself.
const fit = { similarity: -3.1, lead: 12.3, bias: -2.2, agreement: 0.82 };

/** The embedded classifier: similarity to each skill's text. Pure; the same tool always gets the same skills. */
export function classifyTool(tool: Float32Array, skills: SkillPrototype[]): Classification {
  const similarities = skills.map(({ vector }) => dot(tool, vector));
  const mean = similarities.reduce((sum, value) => sum + value, 0) / Math.max(1, similarities.length);
  return toClassification(
    skills.map(({ id }, position) => {
      const similarity = similarities[position] ?? 0;
      const agrees = logistic(fit.similarity * similarity + fit.lead * (similarity - mean) + fit.bias);
      return { skillId: id, confidence: Math.min(1, agrees / fit.agreement) };
    }),
  );
}

/** Keeps what BR-004 saves, whoever classified: the surest first, ties by id. */
export function toClassification(assignments: SkillAssignment[]): Classification {
  const kept = assignments
    .filter(({ confidence }) => confidence >= minConfidence)
    .sort((a, b) => b.confidence - a.confidence || (a.skillId < b.skillId ? -1 : 1))
    .slice(0, maxSkills);
  return { skillIds: kept.map(({ skillId }) => skillId), primarySkillId: kept[0]?.skillId ?? null, assignments: kept };
}

function logistic(value: number): number {
  return 1 / (1 + Math.exp(-value));
}
