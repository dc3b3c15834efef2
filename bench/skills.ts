/**
 * How well the embedded classifier sorts tools into skills, on `../shared/skills/dev.jsonl`. Every tool is judged by
 * weights and calibrations that were fitted without its server: `npm run bench skills`.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { assign, fitCalibrations, judge, prepare, withBareServers } from '../scripts/skills/fitting.ts';
import { type LabelledTool, readDevelopmentTools, readLabelledTools } from '../scripts/skills/labelled-tools.ts';
import { loadStaticEmbedder } from '../src/search/embed.ts';
import type { SkillAssignment } from '../src/skills/classification.ts';
import { createEmbeddedClassifier } from '../src/skills/embedded-classifier.ts';
import { defaultSkills } from '../src/skills/taxonomy.ts';
import { loadTrainedClassifier } from '../src/skills/trained-classifier.ts';
import { printTable } from './table.ts';

interface Assigned {
  tool: LabelledTool;
  skills: SkillAssignment[];
}

const parts = 5;
const shared = process.argv[2] ?? fileURLToPath(new URL('../../shared', import.meta.url));
const { embedText } = loadStaticEmbedder();

if (existsSync(`${shared}/skills/dev.jsonl`)) report();
else console.error(`${shared}/skills/dev.jsonl does not exist: give the folder as the first option`);
showExamples();

function report(): void {
  const labelled = withBareServers([...readDevelopmentTools(shared), ...readLabelledTools(shared)]);
  const judged = judge(prepare(labelled, embedText), parts, embedText);
  const assigned = Array.from({ length: parts }, (_, part) => part).flatMap((part) => {
    const calibrations = fitCalibrations(judged.filter((tool) => tool.part !== part));
    return judged
      .filter((tool) => tool.part === part && tool.isComplete)
      .map((tool): Assigned => ({ tool, skills: assign(tool, calibrations) }));
  });
  const usual = assigned.filter(({ tool }) => !tool.isBare);
  const unchanged = usual.filter(({ tool }) => isDeepStrictEqual(tool.before.accepted, tool.accepted));
  printTable(
    `Embedded classifier, ${parts}-fold cross-validation by server`,
    [
      'tools of dev.jsonl',
      'tools',
      'coverage',
      'primary right',
      'all right',
      '1st',
      '2nd',
      '3rd',
      'fits no skill: none given',
    ],
    [
      measure('with the description of their server', usual),
      measure(
        'without it',
        assigned.filter(({ tool }) => tool.isBare),
      ),
      measure('with it, only tools that no new skill is the home of', unchanged),
    ],
  );
  printCalibration(usual);
}

function measure(name: string, assigned: readonly Assigned[]): string[] {
  const covered = assigned.filter(({ skills }) => skills.length > 0);
  const rightAt = (place: number) => assigned.flatMap(({ tool, skills }) => isRight(tool, skills[place]));
  const all = [0, 1, 2].map(rightAt);
  const unfit = assigned.filter(({ tool }) => tool.primary === null);
  return [
    name,
    String(assigned.length),
    share(covered.length, assigned.length),
    share(countTrue(all[0] ?? []), all[0]?.length ?? 0),
    share(countTrue(all.flat()), all.flat().length),
    ...all.map((right) => `${countTrue(right)}/${right.length}`),
    `${unfit.filter(({ skills }) => skills.length === 0).length}/${unfit.length}`,
  ];
}

function printCalibration(assigned: readonly Assigned[]): void {
  const steps = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95];
  const given = assigned.flatMap(({ tool, skills }) =>
    skills.map((skill) => ({ confidence: skill.confidence, right: isRight(tool, skill)[0] === true })),
  );
  const rows = steps.map((from, at) => {
    const to = steps[at + 1] ?? 1;
    const inside = given.filter(({ confidence }) => confidence >= from && confidence < (to === 1 ? 2 : to));
    const expected = inside.reduce((sum, { confidence }) => sum + confidence, 0);
    const right = inside.filter((one) => one.right).length;
    return [`${from} to ${to}`, String(inside.length), share(expected, inside.length), share(right, inside.length)];
  });
  printTable('Calibration of the assigned skills', ['confidence', 'skills', 'expected', 'right'], rows);
}

/** Tools that 0.1.0 sorted wrongly, judged by the classifier that is shipped. */
function showExamples(): void {
  const classify = createEmbeddedClassifier(loadTrainedClassifier(), embedText, defaultSkills);
  const everything = { name: 'everything', description: '' };
  const examples = [
    { name: 'get-sum', description: 'Returns the sum of two numbers', server: everything },
    { name: 'get-env', description: 'Returns all environment variables', server: everything },
    {
      name: 'get-structured-content',
      description: 'Returns structured content along with an output schema',
      server: everything,
    },
    {
      name: 'get-resource-links',
      description: 'Returns resource links that reference different types',
      server: everything,
    },
    { name: 'web_search', description: 'Search the web', server: { name: 'search', description: '' } },
    { name: 'search', description: 'Search the project for a text', server: { name: 'editor', description: '' } },
  ];
  const rows = examples.map((example) => {
    const { assignments } = classify({ id: 0, title: '', parameters: '', ...example });
    const given = assignments.map(({ skillId, confidence }) => `${skillId} ${confidence.toFixed(2)}`);
    return [`${example.server.name}.${example.name}`, given.join(', ') || 'none'];
  });
  printTable('Shipped classifier', ['tool', 'skills'], rows);
}

function isRight({ accepted }: LabelledTool, skill: SkillAssignment | undefined): boolean[] {
  return skill === undefined ? [] : [accepted.includes(skill.skillId)];
}

function countTrue(values: readonly boolean[]): number {
  return values.filter(Boolean).length;
}

function share(count: number, of: number): string {
  return of === 0 ? '–' : `${((100 * count) / of).toFixed(1)} %`;
}
