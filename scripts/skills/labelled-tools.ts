/** Tools whose skills are known: `../shared/skills/dev.jsonl`, and tools of `../shared/toolret` by `labels.tsv`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { mergedSkills, relabelled } from '../../bench/skill-labels.ts';
import { type ToolToClassify, toToolToClassify } from '../../src/skills/tool-to-classify.ts';
import type { ToolRow } from '../../src/store/schema.ts';

interface Labels {
  /** What it is best sorted under; null: nothing fits. */
  primary: string | null;
  /** Everything that is right. */
  accepted: string[];
}

export interface LabelledTool extends Labels {
  tool: ToolToClassify;
  /** Servers of one product are one group: all of them are fitted to, or none. */
  group: string;
  /** Whether `accepted` was written to hold everything that is right. */
  isComplete: boolean;
  /** Whether what the server says about itself was left out. */
  isBare: boolean;
  /** With the labels as they were before there were new skills. */
  before: Labels;
}

interface Line {
  id: string;
  server: string;
  name: string;
  title?: string | null;
  description: string;
  input_schema?: ToolRow['input_schema'] | null;
  server_description?: string | null;
}

interface DevelopmentLine extends Line {
  primary: string | null;
  also: string[];
}

export function readDevelopmentTools(shared: string): LabelledTool[] {
  return readLines<DevelopmentLine>(join(shared, 'skills/dev.jsonl')).map((line) => {
    const rename = (id: string) => mergedSkills[id] ?? id;
    const renamed = { primary: line.primary === null ? null : rename(line.primary), also: line.also.map(rename) };
    const { primary, also } = relabelled[line.id] ?? renamed;
    const accepted = toAccepted({ primary, also });
    const before = { primary: renamed.primary, accepted: toAccepted(renamed) };
    return { ...toLabelled(line), primary, accepted, before, isComplete: true };
  });
}

export function readLabelledTools(shared: string): LabelledTool[] {
  const lines = new Map(readLines<Line>(join(shared, 'toolret/corpus_scale.jsonl.gz')).map((line) => [line.id, line]));
  const labels = readFileSync(new URL('labels.tsv', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  return labels.flatMap((label) => {
    const [id = '', skills = ''] = label.split('\t');
    const line = lines.get(id);
    const accepted = skills.split(',');
    const given = { primary: accepted[0] ?? null, accepted };
    return line === undefined ? [] : [{ ...toLabelled(line), ...given, before: given, isComplete: false }];
  });
}

export function withoutServerDescription(labelled: LabelledTool): LabelledTool {
  const { tool } = labelled;
  return { ...labelled, isBare: true, tool: { ...tool, server: { ...tool.server, description: '' } } };
}

const toAccepted = ({ primary, also }: { primary: string | null; also: string[] }) => [
  ...new Set([...(primary === null ? [] : [primary]), ...also]),
];

function toLabelled(line: Line): Pick<LabelledTool, 'tool' | 'group' | 'isBare'> {
  // As a user would register it: without the account that published it.
  const name = line.server.split('/').at(-1) ?? line.server;
  const { title = null, description, input_schema } = line;
  const row = { id: 0, original_name: line.name, title, description, input_schema: input_schema ?? {} };
  const server = { name, description: line.server_description ?? null, server_info: null, instructions: null };
  return {
    tool: toToolToClassify(row, server),
    isBare: false,
    group: name.toLowerCase().replaceAll(/mcp|server|[^a-z0-9]/g, ''),
  };
}

function readLines<Row>(path: string): Row[] {
  const bytes = readFileSync(path);
  return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes)
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}
