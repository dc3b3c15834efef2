/** Fits the embedded classifier to labelled tools. */
import { assignTrained, createLead } from '../../src/skills/embedded-classifier.ts';
import { defaultSkills, toSkillText } from '../../src/skills/taxonomy.ts';
import { type EmbedText, embedTool, featuresOf, toFeatures } from '../../src/skills/tool-features.ts';
import type { ToolToClassify } from '../../src/skills/tool-to-classify.ts';
import {
  type ClassifierCalibration,
  createTrainedClassifier,
  logit,
  type TrainedClassifier,
  type TrainedClassifierData,
} from '../../src/skills/trained-classifier.ts';
import { calibrate, type Outcome } from './calibrate.ts';
import { type LabelledTool, withoutServerDescription } from './labelled-tools.ts';
import { type Example, train, type Weights } from './train.ts';

export interface PreparedTool extends LabelledTool {
  features: Float32Array;
}

/** What the labels and the descriptions of servers leave open. */
const goal = 0.9;
const primaryShare = 0.75;
const ofExample = 0.5;
const priorOf = { name: 0.15, definition: 0.2, server: 0.17 };

const ids = defaultSkills.map(({ id }) => id);

export function prepare(labelled: readonly LabelledTool[], embed: EmbedText): PreparedTool[] {
  return labelled.map((one) => ({ ...one, features: toFeatures(one.tool, embed) }));
}

/** Every tool also as it is where its server says nothing about itself. */
export function withBareServers(labelled: readonly LabelledTool[]): LabelledTool[] {
  return [...labelled, ...labelled.map(withoutServerDescription)];
}

/** Which part a group is in when labelled tools are divided into `parts`. */
export function partOf(group: string, parts: number): number {
  let hash = 7;
  for (const character of group) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  return hash % parts;
}

export function fitWeights(tools: readonly PreparedTool[], embed: EmbedText): Weights {
  const examples = [...tools.map(toExample), ...skillExamples(embed)];
  return train(examples, toPrior(embed));
}

export interface Judged extends PreparedTool {
  /** Of a classifier that saw no tool of this group. */
  ranking: ReturnType<TrainedClassifier['rank']>;
  part: number;
}

/** Judges every tool by weights that were fitted to the other parts. */
export function judge(tools: readonly PreparedTool[], parts: number, embed: EmbedText): Judged[] {
  return Array.from({ length: parts }, (_, part) => part).flatMap((part) => {
    const isHeldOut = ({ group }: PreparedTool) => partOf(group, parts) === part;
    const weights = fitWeights(
      tools.filter((tool) => !isHeldOut(tool)),
      embed,
    );
    const { rank } = createTrainedClassifier(toData(weights, uncalibrated, ''));
    return tools.filter(isHeldOut).map((tool) => ({ ...tool, part, ranking: rank(tool.features) }));
  });
}

type Calibrations = TrainedClassifierData['calibration'];

const none = { slopes: [1], bias: 0, min: 1 };
const uncalibrated: Calibrations = { first: none, further: none, described: none };

/** To tools as they come, with what their servers say. */
export function fitCalibrations(judged: readonly Judged[]): Pick<Calibrations, 'first' | 'further'> {
  const toOutcome = ({ accepted, ranking }: Judged, place: number): Outcome => {
    const { skillId = '', share = 0 } = ranking[place] ?? {};
    return { scores: [logit(share)], isRight: accepted.includes(skillId) };
  };
  const usual = judged.filter(({ isBare }) => !isBare);
  const complete = usual.filter(({ isComplete }) => isComplete);
  return {
    first: calibrate(
      usual.map((tool) => toOutcome(tool, 0)),
      goal,
    ),
    further: calibrate(
      complete.flatMap((tool) => [toOutcome(tool, 1), toOutcome(tool, 2)]),
      goal,
    ),
  };
}

/** As if every skill were one that an admin wrote. */
export function fitDescribed(tools: readonly LabelledTool[], embed: EmbedText): ClassifierCalibration {
  const leadOf = createLead(embed);
  const skills = defaultSkills.map((skill) => ({ id: skill.id, vector: embed(toSkillText(skill)) }));
  const outcomes = tools.flatMap(({ tool, accepted }) => {
    const { definition, server } = embedTool(tool, embed);
    return skills.map(({ id, vector }) => ({
      scores: [leadOf(definition, vector), leadOf(server, vector)],
      isRight: accepted.includes(id),
    }));
  });
  return calibrate(outcomes, goal);
}

/** What `assignTrained` needs of a classifier, with a ranking that is known already. */
export function assign({ ranking, features }: Judged, calibrations: Pick<Calibrations, 'first' | 'further'>) {
  const calibration = { ...uncalibrated, ...calibrations };
  return assignTrained({ embedding: '', calibration, rank: () => ranking }, features);
}

export function toData({ rows, biases }: Weights, calibration: Calibrations, embedding: string): TrainedClassifierData {
  const scales = rows.map((row) => Math.max(...row.map(Math.abs)) / 127);
  const weights = Buffer.concat(
    rows.map((row, skill) =>
      Buffer.from(Int8Array.from(row, (value) => Math.round(value / (scales[skill] as number)))),
    ),
  );
  return {
    embedding,
    features: rows[0]?.length ?? 0,
    skills: ids.map((id, skill) => ({ id, bias: biases[skill] as number, scale: scales[skill] as number })),
    weights: weights.toString('base64'),
    calibration,
  };
}

function toExample({ features, accepted, primary }: PreparedTool): Example {
  const others = accepted.filter((id) => id !== primary);
  const ofPrimary = primary === null ? 0 : others.length === 0 ? 1 : primaryShare;
  const target = new Float32Array(ids.length);
  for (const id of accepted) target[placeOf(id)] = id === primary ? ofPrimary : (1 - ofPrimary) / others.length;
  return { features, target, weight: 1 };
}

/** The examples in the taxonomy, as tools of a server that the skill describes. */
function skillExamples(embed: EmbedText): Example[] {
  return defaultSkills.flatMap(({ id, name, description, examples }) =>
    examples.map((example) => {
      const server = { name, description };
      const tool: ToolToClassify = { id: 0, name: example, title: '', description: example, parameters: '', server };
      const target = new Float32Array(ids.length);
      target[placeOf(id)] = 1;
      return { features: toFeatures(tool, embed), target, weight: ofExample };
    }),
  );
}

function toPrior(embed: EmbedText): Float32Array[] {
  return defaultSkills.map((skill) => {
    const vector = embed(toSkillText(skill));
    const row = new Float32Array(featuresOf(vector.length));
    for (const [part, share] of Object.values(priorOf).entries())
      row.set(
        vector.map((value) => value * share * 4),
        part * vector.length,
      );
    return row;
  });
}

function placeOf(id: string): number {
  const place = ids.indexOf(id);
  if (place === -1) throw new Error(`a label names the unknown skill "${id}"`);
  return place;
}
