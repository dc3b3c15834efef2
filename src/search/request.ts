import { stopWords } from '../similarity/stop-words.ts';
import { isVerb } from './actions.ts';
import { fileKind, nameFileKinds } from './file-names.ts';
import { withIntents } from './intents.ts';

/**
 * What a request asks for: the whole text, and its parts when it needs several tools. Parts only ever add tools to the
 * answer, so a wrong cut costs little.
 */
export interface RequestPlan {
  whole: string;
  parts: string[];
  /** What is searched for: the whole and then each part, without literal values and with what everyday phrases ask for. */
  meanings: string[];
}

const maxParts = 8;
const minLetters = 12;
const maxQuery = 4_000;

const quotedPattern =
  /"[^"]{1,400}"|“[^”]{1,400}”|`[^`]{1,400}`|(?<=[\s(:,])'[^']{1,200}'|\{[^{}]{0,600}\}|\[[^[\]]{0,400}\]/g;
const addressPattern = /https?:\/\/[^\s'"`”’<>)\]]+|(?<![\w.+-])[\w.+-]+@[\w-]+\.\w+/g;
const parenthesisPattern = /\([^()]{0,300}\)/g;
const sentencePattern = /(?<=[.!?;])\s+|\n+|(?<=:)\s+(?=[-*\d])/;
// Words that lead from one step to the next, whatever the steps are about.
const stepPattern =
  /(?:,\s*(?:and\s+)?|\s+and\s+)(?:then|afterwards?|after that|next|finally|lastly|also|additionally)\b[,\s]+|\s+(?:then|as well as|followed by)\s+|\s*(?:,|\band\b)\s+(?=(?:and\s+)?(\p{L}+)(?:\s+(\p{L}+))?\b)/giu;
// «remember the sum», «email it»: what stands before one of these is a verb, unless it is a preposition or the like.
const objectPattern =
  /^(?:the|a|an|this|that|these|those|it|them|him|her|me|us|my|your|his|our|their|its|all|each|every|any|some)$/i;
const joiningWords = new Set([
  ...[
    'about',
    'above',
    'across',
    'after',
    'against',
    'along',
    'among',
    'around',
    'before',
    'behind',
    'below',
    'beneath',
  ],
  ...[
    'between',
    'beyond',
    'both',
    'despite',
    'during',
    'either',
    'except',
    'inside',
    'like',
    'near',
    'neither',
    'onto',
  ],
  ...['outside', 'since', 'through', 'throughout', 'till', 'toward', 'towards', 'under', 'unless', 'until', 'upon'],
  ...['versus', 'whether', 'while', 'within', 'without'],
]);

/** `isAction` knows which words begin the names of tools: a comma or an «and» before one begins another step. */
export function planRequest(query: string, isAction: (word: string) => boolean): RequestPlan {
  const whole = query.slice(0, maxQuery).trim();
  const plain = withoutValues(whole);
  const parts = plain
    .split(sentencePattern)
    .flatMap((sentence) => splitSteps(sentence, isAction))
    .map((part) => part.replace(/^[\s,.;:-]+|[\s,;:-]+$/g, ''))
    .filter((part) => part.replaceAll(/\P{L}/gu, '').length >= minLetters);
  const distinct = [...new Set(parts)].slice(0, maxParts);
  const meaning = plain.replaceAll(/\P{L}/gu, '').length >= minLetters ? plain : whole;
  const steps = distinct.length > 1 ? distinct : [];
  return { whole, parts: steps, meanings: [meaning, ...steps].map(withIntents) };
}

/** Literal values (quoted text, JSON, addresses) say what a tool works on, not which tool it is. */
export function withoutValues(text: string): string {
  const saysFile = /\bfiles?\b/i.test(text);
  const shown = text
    .replaceAll(addressPattern, ' ')
    .replaceAll(quotedPattern, (quoted) => (saysFile ? ' ' : (fileKind(quoted.slice(1, -1)) ?? ' ')));
  return (saysFile ? shown : nameFileKinds(shown))
    .replaceAll(parenthesisPattern, ' ')
    .replaceAll(/[^\S\n]+/g, ' ')
    .trim();
}

function splitSteps(sentence: string, isAction: (word: string) => boolean): string[] {
  const pieces: string[] = [];
  let start = 0;
  for (const match of sentence.matchAll(stepPattern)) {
    const [, following, object = ''] = match;
    if (following !== undefined && !isInstruction(following.toLowerCase(), object, isAction)) continue;
    pieces.push(sentence.slice(start, match.index));
    start = match.index + match[0].length;
  }
  pieces.push(sentence.slice(start));
  return pieces;
}

/** As in «create …», or in «remember the …». */
function isInstruction(word: string, next: string, isAction: (word: string) => boolean): boolean {
  return (
    isAction(word) || isVerb(word) || (objectPattern.test(next) && !joiningWords.has(word) && !stopWords.has(word))
  );
}
