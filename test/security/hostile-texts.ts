/** Texts that a server, a web page or a file may hold, each of any length, made to be slow to read. */

export interface HostileText {
  name: string;
  make(length: number): string;
}

const repeated = (unit: string): string =>
  unit.length < 24 ? JSON.stringify(unit) : `${JSON.stringify(unit.slice(0, 20))}…`;

/** One unit over and over. */
const units: readonly string[] = [
  // Markdown
  '# a\n',
  '# a # ',
  '#',
  '# ',
  '\n',
  '\r\n',
  ' ',
  '\t',
  ' \n',
  '[',
  '![',
  '![](',
  '[![a](b)](c) ',
  '[a](',
  '[a](http://b ',
  '(',
  ')',
  '<',
  '< ',
  '</',
  '`',
  '```\n',
  '~~~\na\n',
  '*',
  '**',
  '** ',
  '_',
  '-',
  '- ',
  '- a\n',
  '  - a\n',
  '1. a\n',
  '1',
  '|',
  '| a | b |\n',
  '|-',
  '> ',
  '---\n',
  'a\n\n',
  '    a\n',
  'a:\n',
  'a:\n  b: c\n',
  'title: ',
  'id: 1 | ',
  'a: b\n',
  // JSON and Python
  '{"a":',
  '[[',
  '{',
  '"',
  '\\',
  '\\"',
  "'",
  '"a",',
  '{"a":1}\n',
  '[{"a":1},',
  "{'a': ",
  "('a', ",
  '1,',
  // Words
  'a',
  'A',
  'é',
  'aB',
  'AB ',
  'a ',
  'word ',
  'abcdefghij, ',
  'a-',
  'a_',
  'a.',
  'a. ',
  'A. ',
  'a."\n',
  '. ',
  '.',
  '!',
  '?',
  ';',
  ',',
  ', ',
  ':',
  ': ',
  '=',
  '/',
  'a/',
  'a/b.c:1: d\n',
  'a:1-',
  '@',
  'a@',
  'a@b.',
  'http://',
  'http://a',
  'https://a/b/c ',
  // Numbers, dates, times
  '0',
  '0.',
  '1-',
  '2026-',
  '2026-11-18 ',
  '3 March ',
  'mar ',
  'march. ',
  '12:00 ',
  '1 of 2 ',
  'page 1 ',
  'total ',
  'more ',
  'next ',
  'ids: 1, ',
  'offset ',
  // Words of orders and of statements
  'no ',
  'not found\n',
  'ignore all ',
  'ignore previous your ',
  'send every ',
  'before using tool ',
  'read your ',
  "select '",
  '/*',
  '--',
  '$',
  'Args: ',
  'a (',
  'default ',
  '{{',
  '{{ ',
  '{a}',
  '{+a}',
  // Beyond Latin
  '漢',
  'ア。',
  'ไ',
  '😀',
  '👩‍💻',
  '\ud800',
  '\u0301',
  '\u0301\u0316',
  '\u200d',
  '\u200f',
  'ع\u200f',
  '\u{e0041}',
  '\u0000',
  '\ufffd',
  'ß',
  'İ',
  'ﷺ',
];

/** A beginning, a long run, an end that the run does not lead to. */
const runs: readonly (readonly [string, string, string])[] = [
  ['# a', ' ', 'b'],
  ['# a', '\t', '#b'],
  ['# ', '#', 'b'],
  ['- ', ' ', 'b'],
  ['a', ' ', '\n'],
  ['a', '\n', 'b'],
  ['a:', ' ', 'b\n'],
  ['title', ' ', 'b'],
  ['**', 'a', ''],
  ['[', 'a', '](http://'],
  ['[a](http://', 'b', ' '],
  ['{"a":"', 'b', ''],
  ['{"a":"', '\\', ''],
  ['["', 'b', '"]'],
  ['"', 'a ', ''],
  ['(', '1', ''],
  ['https://', '.', ' '],
  ['https://', '.', 'a'],
  ['', '[![a](b)](c) ', 'x'],
  ['Args:\npath', ' ', 'a: b'],
  ['IDs: ', ' ', 'a'],
  ['id: ', ' ', ''],
  ['a@', 'b', ' '],
  ['-', '1', ' '],
  ['x', '-', '\n'],
  ['`', 'a', '\n'],
  ['|', ' ', 'a'],
  ['| a |\n|', '-', 'b\n'],
  ['a,b,c\n', 'd', ',e\n'],
  ['a;b;c\n', '"', ';e\n'],
  ["SELECT '", 'a', ''],
  ['Args:\n', ' ', 'a (b'],
  ['1 March', ' ', '2026'],
  ['page', ' ', '1'],
  ['cursor', ' ', ':'],
  ['not', ' ', 'found'],
  ['', '.', 'a'],
  ['', ' ', 'b'],
  ['', '\n', 'b'],
  ['', '\r', 'b'],
  ['', 'A', 'a'],
  ['', '[1]', ' a'],
];

export const hostileTexts: readonly HostileText[] = [
  ...units.map((unit) => ({ name: repeated(unit), make: (length: number) => fill(unit, length) })),
  ...runs.map(([start, unit, end]) => ({
    name: `${JSON.stringify(start)} + ${repeated(unit)} + ${JSON.stringify(end)}`,
    make: (length: number) => start + fill(unit, length) + end,
  })),
  // Nests that are closed again, as deep as they go before JSON gives up, and many of them.
  { name: 'closed lists', make: (length) => `[${fill('[[[[1]]]],', length - 2)}0]` },
  { name: 'closed records', make: (length) => `[${fill('{"a":{"b":{"type":"x","content":[]}}},', length - 3)}{}]` },
  { name: 'one deep list', make: (length) => fill('[', length / 2) + fill(']', length / 2) },
  { name: 'many keys', make: (length) => `{${numbered((at) => `"k${at}":${at}`, length)}}` },
  { name: 'many texts', make: (length) => `[${numbered((at) => `"a b ${at}"`, length)}]` },
  { name: 'many rows', make: (length) => `[${numbered((at) => `{"id":${at},"name":"n${at}"}`, length)}]` },
  { name: 'different words', make: (length) => numbered((at) => `w${at.toString(36)} `, length) },
  { name: 'different lines', make: (length) => numbered((at) => `Line ${at} says: something else\n`, length) },
  { name: 'different headings', make: (length) => numbered((at) => `## Heading ${at}\nText ${at}.\n\n`, length) },
  {
    name: 'errors in errors',
    make: (length) => {
      const depth = Math.min(length / 20, 5_000);
      return `${'{"a":'.repeat(depth)}"b"${',"error":"x"}'.repeat(depth)}`;
    },
  },
  { name: 'growing indent', make: (length) => growing((at) => `${' '.repeat(at)}- a\n`, length) },
  { name: 'growing runs', make: (length) => growing((at) => `${'#'.repeat(at)} a\n`, length) },
];

function fill(unit: string, length: number): string {
  return unit.repeat(Math.max(1, Math.floor(length / unit.length)));
}

function numbered(make: (at: number) => string, length: number): string {
  return growing((at) => `${at === 0 ? '' : ','}${make(at)}`, length);
}

function growing(make: (at: number) => string, length: number): string {
  const parts: string[] = [];
  for (let at = 0, chars = 0; chars < length; at += 1) {
    const part = make(at);
    chars += part.length;
    parts.push(part);
  }
  return parts.join('');
}
