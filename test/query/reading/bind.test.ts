import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Arguments, bindArguments, type HandleSource } from '../../../src/query/reading/bind.ts';
import { createKnowledge } from '../../../src/query/reading/knowledge.ts';
import { callSteps, type Planner } from '../../../src/query/reading/step.ts';
import type { Operation } from '../../../src/query/strategy/strategy.ts';
import { listed, nowhere, operationOf, questionOf } from './inputs.ts';

const string = { type: 'string' };

/** The arguments of every call that is possible, likeliest first. */
function calls(operation: Operation, query: string, source: HandleSource = nowhere, input?: string): Arguments[] {
  const bound = bindArguments(operation, questionOf(query), source, input);
  return bound.ok ? bound.bindings.map((binding) => binding.arguments) : [];
}

const from = (value: unknown, more: Partial<HandleSource> = {}): HandleSource => ({
  ...nowhere,
  entry: listed(value)[0],
  ...more,
});

test('a handle goes where its key and the parameter have the same name', () => {
  const getIssue = operationOf('get_issue', { issue_number: { type: 'integer' } });
  const entry = [{ id: 99, issue_number: 7, title: 'Roof' }];
  assert.deepEqual(calls(getIssue, 'what about the roof', from(entry))[0], { issue_number: 7 });
});

test('an id is the id, of a thing of the right kind only', () => {
  const getNote = operationOf('get_note', { note_id: string });
  assert.deepEqual(calls(getNote, 'roof', from({ notes: [{ id: 'n-1', title: 'Roof' }] }))[0], { note_id: 'n-1' });
  const board = from({ boards: [{ id: 'b-1', title: 'Roof' }] });
  const produced = { produced: new Set(['file', 'board']) };
  assert.deepEqual(calls(getNote, 'roof', { ...board, ...produced }), [], 'the id of a board is no id of a note');
});

test('numbers stay numbers, and names are not taken for them', () => {
  const getTicket = operationOf('get_ticket', { id: { type: 'integer' } });
  assert.deepEqual(calls(getTicket, 'roof', from('#77 Leaking roof'))[0], { id: 77 });
  assert.deepEqual(calls(getTicket, 'roof', from('Leaking roof')), []);
});

test('bare paths are read: below their folder, then as they stand', () => {
  const readFile = operationOf('read_file', { path: string });
  assert.deepEqual(calls(readFile, 'roof', from('plans/roof.md', { folders: ['/srv/docs'] })), [
    { path: '/srv/docs/plans/roof.md' },
    { path: 'plans/roof.md' },
  ]);
  assert.deepEqual(calls(readFile, 'roof', from('/srv/docs/roof.md'))[0], { path: '/srv/docs/roof.md' });
  assert.deepEqual(calls(readFile, 'roof', from('[DIR] plans')), [], 'a folder is no file');
});

test('an address is recognised by its form', () => {
  const fetchPage = operationOf('fetch_page', { url: { type: 'string', format: 'uri' } });
  assert.deepEqual(calls(fetchPage, 'pumps', from([{ title: 'Pumps', link: 'https://wiki.test/pumps' }]))[0], {
    url: 'https://wiki.test/pumps',
  });
  assert.deepEqual(calls(fetchPage, 'pumps', from([{ title: 'Pumps', link: 'see below' }])), []);
});

test('the description of a parameter tells a folder from a file', () => {
  const describedAs = (description: string) => operationOf('show_contents', { path: { type: 'string', description } });
  const folder = describedAs('The directory to show');
  assert.deepEqual(calls(folder, 'roof', from('[DIR] plans'))[0], { path: 'plans' });
  assert.deepEqual(calls(folder, 'roof', from('roof.md')), []);
  assert.deepEqual(calls(describedAs('The file to show'), 'roof', from('roof.md'))[0], { path: 'roof.md' });
});

test('what led to a thing is told with it', () => {
  const readRow = operationOf('get_record', { base_id: string, record_id: string });
  const source = from([{ id: 'rec1', name: 'Roof' }], { noun: 'record', scope: { base_id: 'app9' } });
  assert.deepEqual(calls(readRow, 'roof', source)[0], { base_id: 'app9', record_id: 'rec1' });
});

test('owner and repository come from an address or from the question', () => {
  const getIssue = operationOf('get_issue', { owner: string, repo: string, issue_number: { type: 'integer' } });
  const hit = [{ number: 7, title: 'Roof', html_url: 'https://git.test/ada/shed/issues/7' }];
  assert.deepEqual(calls(getIssue, 'roof', from({ issues: hit }))[0], { owner: 'ada', repo: 'shed', issue_number: 7 });
  assert.deepEqual(calls(getIssue, 'what does issue 1207 of ada/shed say')[0], {
    owner: 'ada',
    repo: 'shed',
    issue_number: 1207,
  });
});

test('paths, codes and numbers named in the question are taken; what would be guessed is not', () => {
  const readFile = operationOf('read_file', { path: string });
  assert.deepEqual(calls(readFile, 'what does plans/roof.md say', { ...nowhere, folders: ['/srv'] }), [
    { path: '/srv/plans/roof.md' },
    { path: 'plans/roof.md' },
  ]);
  assert.deepEqual(calls(readFile, 'what is planned for the roof'), []);
  const getInvoice = operationOf('get_invoice', { invoice_id: string });
  assert.deepEqual(calls(getInvoice, 'was INV-1007 paid')[0], { invoice_id: 'INV-1007' });
  assert.deepEqual(calls(getInvoice, 'was the last invoice paid'), []);
});

test('one value of a list is sent as a list, wrapped where the schema wants it', () => {
  const many = operationOf('read_files', { paths: { type: 'array', items: string } });
  assert.deepEqual(calls(many, 'roof', from('roof.md'))[0], { paths: ['roof.md'] });
  const items = { type: 'object', properties: { path: string }, required: ['path'] };
  const wrapped = operationOf('read_files', { sources: { type: 'array', items } });
  assert.deepEqual(calls(wrapped, 'roof', from('roof.md'))[0], { sources: [{ path: 'roof.md' }] });
});

test('dates are filled by a parser, in the spelling that the tool wants', () => {
  const events = (properties: Record<string, unknown>) => operationOf('list_events', properties);
  const days = { start_date: { type: 'string', format: 'date' }, end_date: { type: 'string', format: 'date' } };
  assert.deepEqual(calls(events(days), 'what is on next week')[0], {
    start_date: '2026-11-16',
    end_date: '2026-11-22',
  });
  const moments = { time_min: { type: 'string', format: 'date-time' } };
  assert.deepEqual(calls(events(moments), 'what happened since 3 March 2026')[0], { time_min: '2026-03-03T00:00:00Z' });
  const written = { day: { type: 'string', description: 'Day as DD.MM.YYYY' } };
  assert.deepEqual(calls(events(written), 'what is on 3 March 2026')[0], { day: '03.03.2026' });
  assert.deepEqual(calls(events(written), 'what is on'), [], 'no day is made up');
});

test('choices and flags come from the question or stay out', () => {
  const state = { type: 'string', enum: ['open', 'closed'] };
  const issues = operationOf('list_issues', { state }, { required: [] });
  assert.deepEqual(calls(issues, 'which issues are closed')[0], { state: 'closed' });
  assert.deepEqual(calls(issues, 'which issues are there')[0], {});
  const archived = operationOf('list_issues', { archived: { type: 'boolean' } }, { required: [] });
  assert.deepEqual(calls(archived, 'which issues are there')[0], {});
});

test('words are cut at a word where the schema bounds them', () => {
  const search = operationOf('search_notes', { query: { type: 'string', maxLength: 20 } });
  assert.deepEqual(calls(search, 'roof', nowhere, 'when was the roof of the shed repaired')[0], {
    query: 'when was the roof of',
  });
});

test('a page size is asked for, within what the schema allows, and left out on the second try', () => {
  const list = (limit: object) => operationOf('list_notes', { limit }, { required: [] });
  assert.deepEqual(calls(list({ type: 'integer', maximum: 20 }), 'roof'), [{ limit: 20 }]);
  assert.deepEqual(calls(list({ type: 'integer' }), 'roof'), [{ limit: 50 }, {}]);
  assert.deepEqual(calls(list({ type: 'integer', default: 100 }), 'roof'), [{}]);
});

test('the spelling of a handle that worked before is tried first', () => {
  const readFile = operationOf('read_file', { path: string });
  const knowledge = createKnowledge().of('ada', 'docs');
  const planner = { question: questionOf('roof'), knowledge } as Planner;
  const source = from('roof.md', { folders: ['/srv/docs'] });
  const first = () =>
    callSteps(planner, readFile, source, { priority: 1 }).map(({ target }) =>
      target.kind === 'tool' ? target.arguments.path : undefined,
    );
  assert.deepEqual(first(), ['/srv/docs/roof.md']);
  knowledge.tool('read_file').spelling = 1;
  assert.deepEqual(first(), ['roof.md']);
});

test('a word that every object of JavaScript has is a word like others', () => {
  const getTeam = operationOf('get_constructor', { constructor_id: string });
  const source = from({ constructors: [{ id: 'c-1', name: 'Lotus' }] });
  assert.deepEqual(calls(getTeam, 'who drove for Lotus', source)[0], { constructor_id: 'c-1' });
});
