import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAnswer } from '../../../src/query/reading/answer.ts';
import { type Entry, entriesOf, titleOf } from '../../../src/query/reading/entries.ts';
import { listed } from './inputs.ts';

const field = (entries: readonly Entry[], key: string): unknown[] => entries.map(({ fields }) => fields[key]);

test('bare lines are things, folders by their slash or mark', () => {
  assert.deepEqual(field(listed('notes/a.md\nnotes/b.md\n\narchive/'), ''), ['notes/a.md', 'notes/b.md', 'archive/']);
  assert.deepEqual(
    listed('[DIR] minutes\n[FILE] rota.md\n📁 plans').map(({ fields, isFolder }) => [fields[''], isFolder]),
    [
      ['minutes', true],
      ['rota.md', false],
      ['plans', true],
    ],
  );
});

test('a heading says what the lines below it are', () => {
  const entries = listed('Allowed directories:\n/srv/docs\n/srv/plans');
  assert.deepEqual(
    entries.map(({ fields, noun }) => [fields[''], noun]),
    [
      ['/srv/docs', 'directory'],
      ['/srv/plans', 'directory'],
    ],
  );
});

test('bullets and numbers before a name are no part of it, a remark behind it is not either', () => {
  const entries = listed('- notes.md (2 KB)\n- rota.md (1 KB)');
  assert.deepEqual(field(entries, 'lead'), ['notes.md', 'rota.md']);
  assert.deepEqual(field(listed('1. orders: 120 rows\n2. members: 40 rows'), 'lead'), ['orders', 'members']);
});

test('codes, numbers and tokens in brackets are ids', () => {
  assert.deepEqual(field(listed('T-12 - Broken lamp\n#77 Leaking roof'), 'id'), ['T-12', '77']);
  assert.deepEqual(field(listed('Council Chamber (chamber@town.example)\nHall (hall_2)'), 'bracketed'), [
    'chamber@town.example',
    'hall_2',
  ]);
  assert.deepEqual(field(listed('Object IDs: 20015, 20038'), 'id'), ['20015', '20038']);
});

test('a tree drawn with lines gives whole paths', () => {
  const tree = '├── minutes\n│   ├── march.md\n│   └── may.md\n└── rota.md';
  assert.deepEqual(field(listed(tree), 'path'), ['minutes', 'minutes/march.md', 'minutes/may.md', 'rota.md']);
});

test('a tree in JSON gives whole paths, and says which are folders', () => {
  const entries = listed([
    { name: 'minutes', type: 'directory', children: [{ name: 'march.md', type: 'file' }] },
    { name: 'rota.md', type: 'file' },
  ]);
  assert.deepEqual(
    entries.map(({ fields, isFolder }) => [fields.path, isFolder]),
    [
      ['minutes', true],
      ['minutes/march.md', false],
      ['rota.md', false],
    ],
  );
});

test('what a search prints gives path and line', () => {
  const [hit] = listed('docs/rota.md:12: Ada opens on Monday');
  assert.deepEqual([hit?.fields.path, hit?.fields.line], ['docs/rota.md', 12]);
  const [log] = listed('2026-05-25 09:15:00 started');
  assert.equal(log?.fields.path, undefined, 'a time is no place in a file');
});

test('records of JSON keep their scalars, nested ones under a path, and the noun of their list', () => {
  const [issue] = listed({
    issues: [{ number: 7, title: 'Roof', owner: { login: 'ada' }, labels: ['wet'] }],
    total: 1,
  });
  assert.deepEqual(issue?.fields, { number: 7, title: 'Roof', 'owner.login': 'ada' });
  assert.equal(issue?.noun, 'issue');
  assert.deepEqual(field(listed(['kw-1', 'kw-2']), ''), ['kw-1', 'kw-2']);
});

test('a number too long for a double keeps its digits', () => {
  const answer = { structuredContent: { channels: [{ id: JSON.rawJSON('9007199254740993'), name: 'ops' }] } };
  const [channel] = entriesOf(parseAnswer(answer, 1_000));
  assert.equal(JSON.stringify(channel?.fields.id), '9007199254740993');
});

test('handles in a list of a thing are things of their own that are known by it', () => {
  const [room, sensor] = listed({ rooms: [{ name: 'Greenhouse', sensors: ['kw-627', 'kw-628'] }] });
  assert.equal(room?.noun, 'room');
  assert.deepEqual([sensor?.fields[''], sensor?.noun, sensor?.label], ['kw-627', 'sensor', 'Greenhouse kw-627']);
});

test('tables: Markdown, tabs, commas with quotes', () => {
  const rows = [
    { id: '1', name: 'Ada, Countess' },
    { id: '2', name: 'Grace' },
  ];
  for (const table of [
    '| id | name |\n|---|---|\n| 1 | Ada, Countess |\n| 2 | Grace |',
    'id\tname\n1\tAda, Countess\n2\tGrace',
  ])
    assert.deepEqual(
      listed(table).map(({ fields }) => fields),
      rows,
      table,
    );
  assert.deepEqual(field(listed('id,name,town\n1,"Ada, Countess",London\n2,Grace,Arlington'), 'name'), [
    'Ada, Countess',
    'Grace',
  ]);
});

test('blocks of keys and values are one thing each', () => {
  const commits = listed(
    'Commit: 8f3a11c\nAuthor: Ada\nMessage: Fix the pump\n\nCommit: 77aa0d2\nAuthor: Grace\nMessage: Paint it',
  );
  assert.deepEqual(field(commits, 'commit'), ['8f3a11c', '77aa0d2']);
  assert.deepEqual(field(commits, 'author'), ['Ada', 'Grace']);
  assert.deepEqual(
    commits.map(({ noun }) => noun),
    ['commit', 'commit'],
  );
});

test('a block of many lines keeps as many fields as a record', () => {
  const [block, ...others] = listed(Array.from({ length: 5_000 }, (_, at) => `key ${at}: value ${at}`).join('\n'));
  assert.equal(others.length, 0);
  assert.equal(Object.keys(block?.fields ?? {}).length, 40);
});

test('values as Python prints them', () => {
  const entries = listed("[{'name': 'orders', 'rows': 12, 'parent': None}, {'name': 'members', 'rows': 3}]");
  assert.deepEqual(
    entries.map(({ fields }) => fields),
    [
      { name: 'orders', rows: 12 },
      { name: 'members', rows: 3 },
    ],
  );
});

test('links to resources are things with an address', () => {
  const content = [
    { type: 'resource_link', uri: 'wiki://pumps', name: 'pumps', title: 'Pumps', description: 'How to' },
  ];
  const [link] = entriesOf(parseAnswer({ content }, 1_000));
  assert.deepEqual(link?.fields, { uri: 'wiki://pumps', name: 'Pumps' });
  assert.equal(link?.isLink, true);
});

test('what tells something is told apart from what only names it', () => {
  const [name, message] = listed([
    { id: 1, title: 'Pump' },
    { id: 2, body: 'The pump of the greenhouse was repaired on Monday by the people from next door.' },
  ]);
  assert.deepEqual([name?.isTelling, message?.isTelling], [false, true]);
});

test('the title is what people call it', () => {
  const [page] = listed([{ id: '3f2b8c1e-1111-4222-8333-444455556666', properties: { title: 'Dogs' } }]);
  assert.equal(page === undefined ? undefined : titleOf(page), 'Dogs');
  assert.match(page?.label ?? '', /^Dogs /, 'and comes first in the label');
});

test('a hundred thousand lines, and records without end, stay bounded', () => {
  assert.equal(listed('x.md\n'.repeat(100_000)).length, 2_000);
  assert.equal(listed(Array.from({ length: 5_000 }, (_, id) => ({ id }))).length, 2_000);
  const wide = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`key${i}`, i]));
  assert.equal(Object.keys(listed([wide, wide])[0]?.fields ?? {}).length, 40);
});
