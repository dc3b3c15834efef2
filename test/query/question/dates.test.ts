import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DateRange, daysIn, findDates, mentionsDay } from '../../../src/query/question/dates.ts';

/** A Wednesday. */
const today = new Date('2026-11-18T09:30:00Z');

const readings = (question: string): (DateRange[] | undefined)[] =>
  findDates(question, today).map(({ ranges }) => [...ranges]);
const best = (question: string): DateRange | undefined => findDates(question, today)[0]?.ranges[0];
const day = (at: string): DateRange => ({ from: at, to: at });

test('days, in every usual spelling', () => {
  for (const [question, expected] of [
    ['what happened on 2026-03-03', '2026-03-03'],
    ['what happened on 3 March 2026', '2026-03-03'],
    ['what happened on March 3, 2026', '2026-03-03'],
    ['the 3rd of March 2026', '2026-03-03'],
    ['on 3.3.2026', '2026-03-03'],
    ['on 12/31/2025', '2025-12-31'],
    ['on 31/12/2025', '2025-12-31'],
    ['who is on call today', '2026-11-18'],
    ['what is on tomorrow', '2026-11-19'],
    ['the day before yesterday', '2026-11-16'],
    ['two weeks ago', '2026-11-04'],
    ['in 3 days', '2026-11-21'],
    ['next friday', '2026-11-20'],
    ['last Monday', '2026-11-16'],
    ['Thursday in week 48', '2026-11-26'],
  ] as const)
    assert.deepEqual(best(question), day(expected), question);
});

test('ranges', () => {
  for (const [question, from, to] of [
    ['between 25 and 31 August 2026', '2026-08-25', '2026-08-31'],
    ['from 2 March 2026 to 5 April 2026', '2026-03-02', '2026-04-05'],
    ['in March 2026', '2026-03-01', '2026-03-31'],
    ['2026-02', '2026-02-01', '2026-02-28'],
    ['in Q3 2026', '2026-07-01', '2026-09-30'],
    ['this week', '2026-11-16', '2026-11-22'],
    ['next week', '2026-11-23', '2026-11-29'],
    ['last month', '2026-10-01', '2026-10-31'],
    ['the last 10 days', '2026-11-08', '2026-11-18'],
    ['the last week of May 2026', '2026-05-25', '2026-05-31'],
    ['the first weekend of May 2026', '2026-05-02', '2026-05-03'],
    ['in week 48', '2026-11-23', '2026-11-29'],
    ['this weekend', '2026-11-21', '2026-11-22'],
    ['in 2025', '2025-01-01', '2025-12-31'],
  ] as const)
    assert.deepEqual(best(question), { from, to }, question);
});

test('words before a day open one end', () => {
  assert.deepEqual(best('since Monday'), { from: '2026-11-16' });
  assert.deepEqual(best('after 3 March 2026'), { from: '2026-03-04' });
  assert.deepEqual(best('before 3 March 2026'), { to: '2026-03-02' });
  assert.deepEqual(best('until 3 March 2026'), { to: '2026-03-03' });
});

test('a day without a year has several readings, this year first', () => {
  assert.deepEqual(readings('on 3 March'), [[day('2026-03-03'), day('2027-03-03'), day('2025-03-03')]]);
  assert.deepEqual(readings('3/4/2026'), [[day('2026-03-04'), day('2026-04-03')]]);
});

test('what only looks like a date is none', () => {
  for (const question of [
    'may I use the van',
    'march along',
    'version 2.3.1',
    'order 2026',
    'the second issue',
    'room 12/14',
  ])
    assert.deepEqual(readings(question), [], question);
});

test('days in a text, and whether they lie in a range', () => {
  assert.deepEqual(daysIn('Due 2026-05-04, or 4 May 2026; on May 4th; 04.05.2026; in June 2026.'), [
    ...['2026-05-04', '2026-05-04', '--05-04', '2026-05-04', '2026-06'],
  ]);
  const week = [{ from: '2026-05-04', to: '2026-05-10' }];
  for (const [found, isIn] of [
    ['2026-05-04', true],
    ['2026-05-11', false],
    ['--05-09', true],
    ['--06-09', false],
    // A month is not said of a week in it.
    ['2026-05', false],
  ] as const)
    assert.equal(mentionsDay([found], week), isIn, found);
  assert.equal(mentionsDay(['2026-05'], [{ from: '2026-01-01', to: '2026-12-31' }]), true);
  const acrossYears = [{ from: '2026-12-28', to: '2027-01-03' }];
  for (const [found, isIn] of [
    ['--12-31', true],
    ['--01-02', true],
    ['--01-04', false],
  ] as const)
    assert.equal(mentionsDay([found], acrossYears), isIn, found);
});
