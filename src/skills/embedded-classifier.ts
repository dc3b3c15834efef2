/**
 * Classifies without a model: the built-in skills by what was learned from labelled tools, the skills that an admin wrote
 * or changed by how near their description is. Assigns only what is right in at least nine of ten cases.
 */
import { dot } from '../similarity/cosine.ts';
import { type Classification, type SkillAssignment, toClassification } from './classification.ts';
import { defaultSkills, type Skill, toSkillText } from './taxonomy.ts';
import { type EmbedText, embedTool, toFeatures } from './tool-features.ts';
import type { ToolToClassify } from './tool-to-classify.ts';
import { logit, type TrainedClassifier, toConfidence } from './trained-classifier.ts';

interface DescribedSkill {
  id: string;
  vector: Float32Array;
}

/** Pure: the same tool always gets the same skills. */
export type EmbeddedClassifier = (tool: ToolToClassify) => Classification;

export function createEmbeddedClassifier(
  trained: TrainedClassifier,
  embed: EmbedText,
  skills: readonly Skill[],
): EmbeddedClassifier {
  const builtIn = new Map(defaultSkills.map((skill) => [skill.id, toSkillText(skill)]));
  const isTrained = (skill: Skill) => builtIn.get(skill.id) === toSkillText(skill);
  const trainedIds = new Set(skills.filter(isTrained).map(({ id }) => id));
  const described = skills
    .filter((skill) => !isTrained(skill))
    .map((skill): DescribedSkill => ({ id: skill.id, vector: embed(toSkillText(skill)) }));
  const leadOf = described.length === 0 ? undefined : createLead(embed);

  return (tool) => {
    const ofTrained = assignTrained(trained, toFeatures(tool, embed)).filter(({ skillId }) => trainedIds.has(skillId));
    if (leadOf === undefined) return toClassification(ofTrained);
    const { definition, server } = embedTool(tool, embed);
    const { described: calibration } = trained.calibration;
    const ofDescribed = described
      .map(({ id, vector }): SkillAssignment => {
        const confidence = toConfidence(calibration, leadOf(definition, vector), leadOf(server, vector));
        return { skillId: id, confidence };
      })
      .filter(({ confidence }) => confidence >= calibration.min);
    return toClassification([...ofTrained, ...ofDescribed]);
  };
}

/** Further skills only beside a first one. */
export function assignTrained({ rank, calibration }: TrainedClassifier, features: Float32Array): SkillAssignment[] {
  const { first, further } = calibration;
  const assigned = rank(features)
    .slice(0, 3)
    .map(({ skillId, share }, place) => {
      const used = place === 0 ? first : further;
      const confidence = toConfidence(used, logit(share));
      return { skillId, confidence, fits: confidence >= used.min };
    });
  const end = assigned.findIndex(({ fits }) => !fits);
  return assigned
    .slice(0, end === -1 ? assigned.length : end)
    .map(({ skillId, confidence }) => ({ skillId, confidence }));
}

/** How much nearer a text is to a skill than to the built-in skills on average: some texts are near to everything. */
export function createLead(embed: EmbedText): (text: Float32Array, skill: Float32Array) => number {
  const vectors = defaultSkills.map((skill) => embed(toSkillText(skill)));
  const mean = Float32Array.from(
    vectors[0] ?? [],
    (_, at) => vectors.reduce((sum, vector) => sum + (vector[at] as number), 0) / vectors.length,
  );
  return (text, skill) => dot(text, skill) - dot(text, mean);
}
