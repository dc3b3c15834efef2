/** The ways to put a question to a search: as a whole, by its keywords, word by word, as a pattern. Pure. */
import type { Operation } from '../strategy/strategy.ts';
import { bindArguments, type HandleSource } from './bind.ts';
import type { WordForm } from './knowledge.ts';
import { type Planner, priorities, type Step, toolStep } from './step.ts';

interface SearchDetails {
  /** The second rung follows when the first found nothing. */
  rung: number;
  depth?: number;
  context?: string;
  priority?: number;
}

const perRung = 12;
const perDepth = 5;
/** Readings of a date that a search is narrowed by. */
const maxReadings = 2;

export function searchSteps(
  planner: Planner,
  operation: Operation,
  source: HandleSource,
  { rung, depth = 0, context = '', priority }: SearchDetails,
): Step[] {
  const usual = priorities.search - perRung * rung - perDepth * depth + operation.preference;
  return (wordingsFor(planner, operation)[rung] ?? []).flatMap((input, place) => {
    const bound = bindArguments(operation, planner.question, source, input.text);
    if (!bound.ok) return [];
    const details = { priority: (priority ?? usual) - place, depth, context, scope: source.scope, input };
    // Readings of a date are different questions; spellings of a handle are tried one after the other.
    const isDated = operation.parameters.some(({ role }) => role.kind === 'date');
    if (isDated) return bound.bindings.slice(0, maxReadings).map((binding) => toolStep(operation, binding, details));
    const [first, ...others] = bound.bindings;
    return first === undefined ? [] : [toolStep(operation, first, { ...details, others })];
  });
}

interface Wording {
  text: string;
  form: WordForm;
}

const maxKeywords = 5;
const maxTogether = 4;
const maxWords = 3;

/** By rung, likeliest first. */
function wordingsFor({ question, knowledge }: Planner, { style, tool, input }: Operation): Wording[][] {
  const keywords = question.keywords.slice(0, maxKeywords);
  const roots = keywords.map(rootOf);
  const whole: Wording = { text: question.text, form: 'question' };
  const together: Wording = { text: keywords.slice(0, maxTogether).join(' '), form: 'keywords' };
  const each = (texts: readonly string[]): Wording[] =>
    [...new Set(texts)].slice(0, maxWords).map((text) => ({ text, form: 'word' }));
  if (input?.role.kind === 'words' && input.role.language !== undefined)
    return [
      [{ text: keywords.slice(0, maxTogether).map(toClause).join(' AND '), form: 'keywords' }],
      [{ text: keywords.map(toClause).join(' OR '), form: 'word' }],
    ];
  switch (style) {
    case 'meaning':
      return [[whole], [together], each(keywords)];
    case 'regex':
      return [[{ text: roots.map(toPattern).join('|'), form: 'keywords' }], each(roots.map(toPattern))];
    case 'glob':
      return [each(roots.map((root) => `**/*${root.replace(/[*?[\]{}\s]/g, '*')}*`))];
    case 'name':
      // Everything there is, where no name holds a word of the question.
      return [each(roots), [{ text: '.', form: 'word' }]];
    case 'literal':
      return [each(roots), [together, whole]];
    default: {
      const { found } = knowledge.tool(tool);
      if (found.word > 0 && found.question === 0) return [each(roots), [together, whole]];
      if (found.question > 0) return [[whole], [together, ...each(roots)]];
      return [
        [whole, ...each(keywords).slice(0, 2)],
        [together, ...each(roots).slice(1)],
      ];
    }
  }
}

/** The same in JQL and CQL. */
const toClause = (word: string): string => `text ~ "${word.replace(/["\\]/g, ' ')}"`;

/** Found inside other forms of the word. Names and identifiers stay as they are. */
function rootOf(keyword: string): string {
  if (!/^[a-z]+$/.test(keyword) || keyword.length < 5) return keyword;
  const root = keyword.replace(/(?:ies|ied)$/, '').replace(/(?:ing|ed|s)$/, '');
  return root.length < minRoot ? keyword : root;
}

const minRoot = 4;

/** Ordinary words at the beginning of a sentence, too. */
function toPattern(text: string): string {
  const escaped = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const [first = ''] = escaped;
  return /^[a-z]+$/.test(text) ? `[${first.toUpperCase()}${first}]${escaped.slice(1)}` : escaped;
}
