/**
 * What everyday phrases ask for, in the words that tools use of themselves: «3 plus 4» asks for a sum, «remember that»
 * for a memory. Only phrases whose own words say nothing of it belong here.
 */
const intents: readonly (readonly [pattern: RegExp, meaning: string])[] = [
  [/\d\s{0,3}(?:\+|plus)\s{0,3}\d/i, 'add numbers, their sum'],
  [/\d\s{1,3}(?:-|minus)\s{1,3}\d/i, 'subtract numbers, their difference'],
  [/\d\s{0,3}(?:\*|×|times|multiplied by)\s{0,3}\d/i, 'multiply numbers, their product'],
  [/\d\s{0,3}(?:÷|divided by)\s{0,3}\d/i, 'divide numbers, their quotient'],
  [/(?:^|[,.;]\s|\band\s|\bplease\s)(?:remember|memorize)\b/i, 'store in memory, add to knowledge'],
  [/(?:^|[,.;]\s|\band\s|\bplease\s)forget\b/i, 'delete from memory, knowledge'],
  [/\bwhat (?:do|did) (?:you|we|I) (?:know|remember|learn)\b/i, 'search memory, knowledge'],
  [/\b(?:may|am) I (?:use|access|allowed)\b/i, 'allowed access'],
  [/(?:^|[,.;]\s|\band\s|\bplease\s)(?:link|relate|connect)\s\S{1,40}\s(?:to|with)\b/i, 'create a relation'],
];

export function withIntents(text: string): string {
  const meanings = intents.filter(([pattern]) => pattern.test(text)).map(([, meaning]) => meaning);
  return [text, ...meanings].join(', ');
}
