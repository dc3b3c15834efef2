import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyseQuestion, type Question, type Wanted } from '../../../src/query/question/question.ts';
import { lexicon } from '../servers.ts';

/** A Wednesday. */
const today = new Date('2026-11-18T09:30:00Z');

const analyse = (text: string): Question => analyseQuestion(text, lexicon, today);

/** What a field of the question holds, for each question. */
function assertEach<T>(read: (question: Question) => T, cases: readonly (readonly [string, T])[]): void {
  for (const [text, expected] of cases) assert.deepEqual(read(analyse(text)), expected, text);
}

test('proper names are kept together; the beginning of a sentence is none', () => {
  assertEach(
    ({ names }) => names,
    [
      ["What is Ada Lovelace's phone number?", ['Ada Lovelace']],
      ['Who is Karin Maria Bergdahl', ['Karin Maria Bergdahl']],
      ['How long is the Elbe tunnel?', ['Elbe']],
      ['Which port does the billing service use?', []],
      ['Where is Dr. Quennell?', ['Dr Quennell']],
      ['does the office in Berlin, Paris or Rome have a kitchen?', ['Berlin', 'Paris', 'Rome']],
      ["is Ada's Babbage machine for sale", ['Ada', 'Babbage']],
    ],
  );
});

test('a question that capitalises everything names nothing', () => {
  assertEach(
    ({ names }) => names,
    [
      ['WHAT IS THE WIFI PASSWORD NOW PLEASE', []],
      ['Opening Hours Swimming Pool Sunday Morning', []],
    ],
  );
});

test('names that a question lists stand for one another', () => {
  assertEach(
    ({ nameGroups }) => nameGroups,
    [
      ['where do Joan Marsh and John Marsh live', [['Joan Marsh', 'John Marsh']]],
      ['is the office in Berlin, Paris or Rome larger', [['Berlin', 'Paris', 'Rome']]],
      ['did Ada write to Babbage', [['Ada'], ['Babbage']]],
    ],
  );
});

test('identifiers, with the noun before them; years and amounts are none', () => {
  assertEach(
    ({ identifiers }) => identifiers,
    [
      ['what does INV-1007 cost', [{ text: 'INV-1007' }]],
      ['status of order 4711', [{ text: '4711', noun: 'order' }]],
      ['who owns order #12', [{ text: '12', noun: 'order' }]],
      ['release 2.3.1 notes', [{ text: '2.3.1', noun: 'release' }]],
      ['rename get_user_name and fetchUserData', [{ text: 'get_user_name' }, { text: 'fetchUserData' }]],
      ['show commit 9fceb02d0ae5', [{ text: '9fceb02d0ae5', noun: 'commit' }]],
      ['sales in 2025', []],
      ['the price of 3 servers', []],
      ['packages of 12 kg and 40 mm', []],
      ['meeting at 15:30', []],
    ],
  );
});

test('paths, addresses and repositories', () => {
  assertEach(
    ({ paths }) => paths,
    [
      ['What is in src/query/query.ts?', ['src/query/query.ts']],
      ['read /etc/hosts and ~/notes/todo.md.', ['/etc/hosts', '~/notes/todo.md']],
      ['what does README.md say', ['README.md']],
      ['open issues of octocat/hello-world', []],
      ['files, e.g. the newest', []],
    ],
  );
  assertEach(
    ({ urls }) => urls,
    [
      ['see https://example.com/a?b=1.', ['https://example.com/a?b=1']],
      ['see (http://localhost:3000/x)', ['http://localhost:3000/x']],
    ],
  );
  assertEach(
    ({ repositories }) => repositories,
    [
      ['open issues of octocat/hello-world', [{ owner: 'octocat', repo: 'hello-world' }]],
      ['who wrote https://github.com/nodejs/node.git?', [{ owner: 'nodejs', repo: 'node' }]],
      ['What is in src/query.ts?', []],
    ],
  );
});

test('dates are parsed and are no keywords', () => {
  const { dates, keywords } = analyse('which meetings are on 3 March 2027?');
  assert.deepEqual(dates, [[{ from: '2027-03-03', to: '2027-03-03' }]]);
  assert.deepEqual(keywords, ['meetings']);
  // Digits of an address or a version are no dates.
  assert.deepEqual(analyse('see https://example.com/2026-03-03').dates, []);
});

test('keywords: identifiers, phrases and names, then words, the rare before the common', () => {
  assertEach(
    ({ keywords }) => keywords,
    [
      ['What is the wifi password?', ['wifi', 'password']],
      ['status of order 4711', ['4711', 'status', 'order']],
      ["What is Ada Lovelace's phone number?", ['Ada Lovelace', 'phone']],
      ['find "connection refused" in the logs', ['connection refused', 'logs']],
      ['where is “the blue folder”?', ['the blue folder']],
      ['please show me the invoices', ['invoices']],
    ],
  );
  // A request is a word where it does not open the question.
  assert.ok(analyse('show me the packing list').keywords.includes('list'));
  assert.ok(!analyse('list the packings').keywords.includes('list'));
  // A question without any other word still has something to look for.
  assert.deepEqual(analyse('the who').keywords.toSorted(), ['the', 'who']);
  assert.ok(analyse('alpha beta gamma delta epsilon zeta theta kappa').keywords.length <= 6);
});

test('the object of the question, and its head', () => {
  const focus = ({ terms }: Question) => [
    terms.filter((term) => term.isFocus).map((term) => term.text),
    terms.find((term) => term.isHead)?.text,
  ];
  assertEach(focus, [
    ['what is the wifi password', [['wifi', 'password'], 'password']],
    ["What is Ada's phone number?", [['phone'], 'phone']],
    ['Which port does the billing service use?', [['port'], 'port']],
    ['What is the date of birth of Ada?', [['birth'], 'birth']],
    ['What is the price of 3 servers?', [['price'], 'price']],
    ['how many customers are there', [['customers'], 'customers']],
    ['What did support recommend?', [[], undefined]],
    ['What was changed?', [[], undefined]],
    ['Is the build green?', [[], undefined]],
  ]);
});

test('kinds and weights of terms', () => {
  const kinds = Object.fromEntries(
    analyse('did Quennell mention order 4711 in the report on 3 March?').terms.map(({ text, kind }) => [text, kind]),
  );
  assert.deepEqual(kinds, {
    quennell: 'name',
    mention: 'word',
    order: 'word',
    report: 'word',
    4711: 'literal',
    date: 'date',
  });
  const weight = (text: string, word: string) => analyse(text).terms.find((term) => term.text === word)?.weight ?? 0;
  const question = 'the latest report of Quennell is called INV-1';
  for (const [less, more] of [
    ['latest', 'report'],
    ['report', 'quennell'],
    ['quennell', 'inv-1'],
  ] as const)
    assert.ok(weight(question, less) < weight(question, more), `${less} against ${more}`);
});

test('words are terms once, in whatever form', () => {
  const stems = analyse('paid payments: who pays, who paid?').terms.map((term) => term.stem);
  assert.deepEqual(stems, [...new Set(stems)]);
});

test('a price, a telephone or an address has a shape that answers it', () => {
  const answers = (text: string, word: string, answer: string): boolean =>
    analyse(text)
      .terms.find((term) => term.text === word)
      ?.shapes?.some((shape) => shape.test(answer)) ?? false;
  for (const [question, word, answer, isShaped] of [
    ['what is the price of the tent', 'price', '249 €', true],
    ['what is the price of the tent', 'price', 'article 249', false],
    ['which version is installed', 'version', '4.1.6', true],
    ['the phone of the office', 'phone', '+49 40 123456', true],
    ['the phone of the office', 'phone', '2026-03-03', false],
    ['the email of the office', 'email', 'office@example.com', true],
    ['the address of the shop', 'address', 'https://example.com', true],
    ['the colour of the tent', 'colour', '249 €', false],
  ] as const)
    assert.equal(answers(question, word, answer), isShaped, `${question}: ${answer}`);
  const isDemanded = (text: string, word: string) =>
    analyse(text).terms.find((term) => term.text === word)?.isDemanded === true;
  assert.equal(isDemanded('what is the phone number of the office', 'phone'), true);
  assert.equal(isDemanded('which telephone extension has the office', 'telephone'), false);
});

test('what kind of fact is wanted', () => {
  assertEach<Wanted[]>(
    ({ wants }) => [...wants],
    [
      ['how many customers are there', ['count']],
      ['what is the average price', ['average']],
      ['which tent is the cheapest', ['least']],
      ['who wrote the longest book', ['most', 'who']],
      ['when is the deadline', ['when']],
      ['where is the key', ['where']],
      ['the newest release', ['latest']],
      ['the phone number of Ada', []],
    ],
  );
});

test('pasted material is cut, not refused', () => {
  const question = analyse(`where is the key ${'lorem ipsum '.repeat(5_000)}INV-1007`);
  assert.ok(question.terms.length <= 24);
  assert.deepEqual(question.identifiers, []);
});
