/** `npm run manifests`: writes deploy/kubernetes from the chart. Needs helm (`npm run deploy:check` builds one with Go). */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findHelm } from './deploy/helm.ts';
import { createManifests } from './deploy/manifests.ts';

const directory = fileURLToPath(new URL('../deploy/kubernetes', import.meta.url));
const helm = findHelm();
if (helm === undefined) throw new Error('helm is not installed; set HELM to its path');
const files = createManifests(helm);
mkdirSync(directory, { recursive: true });
for (const name of readdirSync(directory)) if (!files.has(name)) rmSync(join(directory, name));
for (const [name, text] of files) writeFileSync(join(directory, name), text);
console.log(`${files.size} files in deploy/kubernetes`);
