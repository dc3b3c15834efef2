/** Answers, operations and questions as the reading gets them. */
import assert from 'node:assert/strict';
import { analyseQuestion, type Question } from '../../../src/query/question/question.ts';
import { type ParsedAnswer, parseAnswer } from '../../../src/query/reading/answer.ts';
import type { HandleSource } from '../../../src/query/reading/bind.ts';
import { type Entry, entriesOf } from '../../../src/query/reading/entries.ts';
import { type Operation, type StrategyTool, workOutStrategy } from '../../../src/query/strategy/strategy.ts';
import { lexicon, text, toolSchema } from '../servers.ts';

const roomy = 1_000_000;
export const sunday = new Date('2026-11-15T12:00:00Z');

export const textAnswer = (value: string): ParsedAnswer => parseAnswer(text(value), roomy);
export const jsonAnswer = (value: unknown): ParsedAnswer => textAnswer(JSON.stringify(value));
export const listed = (value: unknown): Entry[] =>
  entriesOf(typeof value === 'string' ? textAnswer(value) : jsonAnswer(value));

export const questionOf = (query: string): Question => analyseQuestion(query, lexicon, sunday);

/** The operation of a tool, beside the other tools of its server. */
export function operationOf(
  name: string,
  properties: Record<string, unknown>,
  more: { required?: string[]; description?: string; beside?: StrategyTool[] } = {},
): Operation {
  const { required = Object.keys(properties), description = '', beside = [] } = more;
  const tool = { name, description, inputSchema: toolSchema(properties, required) };
  const { operations, leftOut } = workOutStrategy({ tools: [tool, ...beside] });
  const operation = operations.find((candidate) => candidate.tool === name);
  assert.ok(operation !== undefined, JSON.stringify(leftOut));
  return operation;
}

export const nowhere: HandleSource = { scope: {}, folders: [] };
