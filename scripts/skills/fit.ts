/** `npm run fit-skills`: fits assets/skill-classifier.json to the labelled tools; takes two minutes. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { loadStaticEmbedder } from '../../src/search/embed.ts';
import { trainedClassifierFile } from '../../src/skills/trained-classifier.ts';
import { fitCalibrations, fitDescribed, fitWeights, judge, prepare, toData, withBareServers } from './fitting.ts';
import { readDevelopmentTools, readLabelledTools } from './labelled-tools.ts';

const shared = process.argv[2] ?? fileURLToPath(new URL('../../../shared', import.meta.url));
const parts = 5;

const { embedText, identity } = loadStaticEmbedder();
const labelled = [...readDevelopmentTools(shared), ...readLabelledTools(shared)];
const tools = prepare(withBareServers(labelled), embedText);
const calibrations = {
  ...fitCalibrations(judge(tools, parts, embedText)),
  described: fitDescribed(labelled, embedText),
};
const data = toData(fitWeights(tools, embedText), calibrations, identity);
writeFileSync(trainedClassifierFile, `${JSON.stringify(data)}\n`);
console.log(`${labelled.length} labelled tools, ${data.skills.length} skills, ${data.features} features`);
console.table(calibrations);
