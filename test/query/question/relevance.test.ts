import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyseQuestion } from '../../../src/query/question/question.ts';
import { answers, createRelevanceMeter, type RelevanceMeter } from '../../../src/query/question/relevance.ts';
import { lexicon } from '../servers.ts';

const today = new Date('2026-11-18T09:30:00Z');

const meterFor = (text: string): RelevanceMeter => createRelevanceMeter(analyseQuestion(text, lexicon, today), lexicon);

function chance(question: string, text: string): number {
  const meter = meterFor(question);
  return meter.judge(meter.measure(text));
}

/** For each question, texts that answer it and texts that do not. */
function assertAnswers(cases: readonly { question: string; yes: readonly string[]; no: readonly string[] }[]): void {
  for (const { question, yes, no } of cases) {
    for (const text of yes) assert.ok(chance(question, text) >= answers, `${question} → ${text}`);
    for (const text of no) assert.ok(chance(question, text) < answers, `${question} ↛ ${text}`);
  }
}

test('another name, or the name alone, is no answer', () => {
  assertAnswers([
    {
      question: "What is Ada Lovelace's phone number?",
      yes: ['Ada Lovelace, phone 0171 555 0101', 'Lovelace, Ada. Telephone: +49 171 5550101'],
      no: ['Ada Byron, phone 0171 555 0102', 'Grace Hopper, phone 0171 555 0103', 'Ada Lovelace likes tea'],
    },
    {
      question: 'Who repairs the boiler in Glen Orrin?',
      yes: ['Glen Orrin: the boiler is repaired by Mr Todd'],
      no: ['Glen Affric has a new bus stop', 'The boiler is repaired by Mr Todd'],
    },
  ]);
});

test('of names that stand for one another, one is enough', () => {
  assertAnswers([
    {
      question: 'the phone of Joan Marsh and John Marsh',
      yes: ['Joan Marsh, phone 0171 555 0101', 'John Marsh, phone 0171 555 0102'],
      no: ['Jim Kirk, phone 0171 555 0103'],
    },
  ]);
});

test('an identifier is found whole, never inside another one', () => {
  assertAnswers([
    {
      question: 'status of order 4711',
      yes: ['Order 4711: shipped'],
      no: ['Order 47112: shipped', 'Order 4712 status'],
    },
    { question: 'what does INV-1007 say', yes: ['inv-1007 is overdue'], no: ['INV-10071 is overdue'] },
    { question: 'getUserName', yes: ['function getUserName() {}'], no: ['function getUserNames() {}'] },
  ]);
});

test('other forms and other words mean the same', () => {
  assertAnswers([
    { question: 'how do I purchase a car', yes: ['purchasing cars', 'buy an automobile here'], no: ['sell a boat'] },
    { question: 'who bought the printer', yes: ['Ada buys printers'], no: ['Ada likes the garden'] },
  ]);
  assert.ok(chance('purchase a car', 'purchase a car') > chance('purchase a car', 'buy an automobile'));
});

test('a name has no synonyms', () => {
  const { measure } = meterFor('where does Car live');
  assert.equal(measure('an automobile').coverage, 0);
  assert.ok(measure('Car').coverage > 0);
});

test('what is demanded must be there, as a word or by its shape', () => {
  assertAnswers([
    {
      question: 'What is the price of the tent?',
      yes: ['The tent: 249 €', 'Tent: price on request'],
      no: ['The tent is green', 'The caravan: 249 €'],
    },
    {
      question: 'which version of the parser is installed',
      yes: ['parser 4.1.6 is installed'],
      no: ['the lexer 4.1.6', 'a new window was installed'],
    },
  ]);
});

test('days in any spelling; a weekday by its name', () => {
  assertAnswers([
    {
      question: 'who is on call on 3 March 2026?',
      yes: ['2026-03-03: Ada is on call', 'On March 3rd Ada is on call', '03.03.2026 call: Ada'],
      no: ['On call: Grace, 4 March 2026'],
    },
    { question: 'what is on Sunday?', yes: ['Sundays: brunch', '2026-11-22: brunch'], no: ['Monday: soup'] },
  ]);
});

test('words that stand far apart do not add up', () => {
  const { measure } = meterFor('wifi password');
  const filler = 'tree '.repeat(200);
  const near = measure(`${filler}the wifi password is swordfish`);
  assert.equal(near.coverage, 1);
  assert.ok(near.place > 200, `place ${near.place}`);
  assert.ok(measure(`wifi here ${filler} password there`).coverage < 0.7);
});

test('what is known beside a text counts for all of it, a little less than what it says', () => {
  const { measure, toContext } = meterFor('opening hours of the library');
  const alone = measure('from nine to five, opening hours').coverage;
  const within = measure('from nine to five, opening hours', toContext('library.md')).coverage;
  const said = measure('library: from nine to five, opening hours').coverage;
  assert.ok(alone < within && within < said, `${alone} < ${within} < ${said}`);
});

test('labels are compared by how much of the question they hold', () => {
  const { fit } = meterFor('Which team maintains the billing service?');
  assert.ok(fit('billing-service.md') > fit('billing.md'));
  assert.ok(fit('billing.md') > fit('holidays.md'));
  assert.equal(fit(''), 0);
});
