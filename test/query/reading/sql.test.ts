import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { isSelect } from '../../../src/query/reading/select-statement.ts';
import { schemaStatements, statementsFor, type Table, tablesOf } from '../../../src/query/reading/sql.ts';
import { lexicon } from '../servers.ts';
import { listed, questionOf } from './inputs.ts';

function near(a: string, b: string): number {
  const [x, y] = [lexicon.embedText(a), lexicon.embedText(b)];
  return Math.max(
    0,
    x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0),
  );
}

const schema = `
  create table customers (id integer primary key, name text, town text);
  create table orders (id integer primary key, customer_id integer references customers(id), item text, amount real, ordered_on date);
  create table "odd ""name" (id integer, "a'b" text);
  create table constructors (id integer primary key, name text, wins integer);
  insert into customers values (1, 'Ada Miller', 'York'), (2, 'Grace O''Brien', 'Leeds');
  insert into orders values (1, 1, 'ladder', 120.5, '2026-03-03'), (2, 1, 'pump_04', 80, '2026-04-14'), (3, 2, 'pump-04 seal', 9.5, '2026-05-21');
  insert into constructors values (1, 'Lotus', 79), (2, 'Cooper', 16);
`;

function openShop(): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  database.exec(schema);
  return database;
}

function readTables(database: DatabaseSync): Table[] {
  return tablesOf(listed(database.prepare(schemaStatements[0] ?? '').all()));
}

/** The rows of every statement that is made of the question, best first. */
function rowsFor(database: DatabaseSync, query: string): Record<string, unknown>[] {
  return statementsFor(readTables(database), questionOf(query), near).flatMap(({ sql }) => database.prepare(sql).all());
}

test('tables, columns, their types and what leads where are read from the catalogue of SQLite', () => {
  using database = openShop();
  const tables = readTables(database);
  assert.deepEqual(tables.map(({ name }) => name).toSorted(), ['constructors', 'customers', 'odd "name', 'orders']);
  const orders = tables.find(({ name }) => name === 'orders');
  assert.deepEqual(
    orders?.columns.map(({ name, type }) => [name, type]),
    [
      ['id', 'number'],
      ['customer_id', 'number'],
      ['item', 'text'],
      ['amount', 'number'],
      ['ordered_on', 'date'],
    ],
  );
  assert.deepEqual(orders?.columns[1]?.parent, { table: 'customers', column: 'id' });
});

test('the words of the question find rows, with the names that they lead to', () => {
  using database = openShop();
  const [row] = rowsFor(database, 'who ordered the ladder');
  assert.deepEqual([row?.item, row?.customer_name], ['ladder', 'Ada Miller']);
});

test('counts, sums and superlatives are computed by the database', () => {
  using database = openShop();
  const [count] = rowsFor(database, 'how many orders does Ada Miller have');
  assert.deepEqual(Object.values(count ?? {}), [2]);
  const [sum] = rowsFor(database, 'what is the total amount of the orders of Ada Miller');
  assert.deepEqual(Object.values(sum ?? {}), [200.5]);
  const [latest] = rowsFor(database, 'what is the latest order');
  assert.equal(latest?.ordered_on, '2026-05-21');
});

test('a date of the question narrows the rows', () => {
  using database = openShop();
  const rows = rowsFor(database, 'which orders came in on 14 April 2026');
  assert.ok(rows.length > 0);
  assert.deepEqual(new Set(rows.flatMap(({ ordered_on: day }) => day ?? [])), new Set(['2026-04-14']));
});

test('an identifier is found letter by letter, signs included', () => {
  using database = openShop();
  assert.equal(rowsFor(database, 'who ordered pump_04')[0]?.item, 'pump_04');
});

test('a word that every object of JavaScript has is a word like others', () => {
  using database = openShop();
  assert.equal(rowsFor(database, 'which constructor has the most wins')[0]?.name, 'Lotus');
});

test('every statement is one bounded SELECT, and runs, whatever the question holds', () => {
  using database = openShop();
  const tables = readTables(database);
  const before = database.prepare('select count(*) as n from orders').get();
  for (const query of [
    "who is O'Brien",
    "'; DROP TABLE orders; --",
    'what about "x\' OR 1=1 --" and pump-04\'; delete from orders',
    'where is C:\\temp\\orders.txt\\ stored',
    'see https://shop.test/a?q=100%25\\ for order 4711',
    'how many orders of "Robert\'); drop table customers;--" and INV-1007',
    'which odd name a b has x',
    '100 % of _ and \\',
    '$$; drop table orders; $$',
    'show everything',
  ]) {
    const statements = statementsFor(tables, questionOf(query), near);
    assert.ok(statements.length <= 16);
    for (const { sql } of statements) {
      assert.ok(isSelect(sql), sql);
      const rows = database.prepare(sql).all();
      assert.ok(rows.length <= 12, sql);
      assert.match(sql, / LIMIT \d+$|^SELECT (?:COUNT|SUM|AVG)\([^)]*\) AS "[^"]*" FROM/, sql);
    }
  }
  assert.deepEqual(database.prepare('select count(*) as n from orders').get(), before);
});

test('a question that has nothing to do with any table asks nothing of the rows', () => {
  const tables: Table[] = [{ name: 'orders', columns: [{ name: 'id', type: 'number' }] }];
  assert.deepEqual(
    statementsFor(tables, questionOf('what is the'), () => 0),
    [],
  );
});

test('only one SELECT passes for one', () => {
  for (const statement of [
    'select 1',
    ' SELECT * FROM orders; ',
    'with a as (select 1) select * from a',
    "select 'drop table x; -- it''s a text' as said",
    'select "update", `delete` from "insert"',
    'select 1 -- drop it\n from t',
    'select /* insert */ 1',
    'select tags[1] from t',
  ])
    assert.equal(isSelect(statement), true, statement);
  for (const statement of [
    '',
    'explain select 1',
    'delete from t',
    'select 1; drop table t',
    'with gone as (delete from t returning *) select * from gone',
    'select * into other from t',
    'select * from t for update',
    'pragma writable_schema = 1',
    "select 'open",
    'select 1 /* open',
    'select $$a$$',
    "select pg_read_file('/etc/passwd')",
    'select nextval($1)',
    'select "setval"(\'s\', 1)',
    'select lo_unlink(7)',
    "select load_extension('x')",
  ])
    assert.equal(isSelect(statement), false, statement);
});

test('what one database reads as a text and another as a statement is refused', () => {
  for (const statement of [
    "select '\\'; drop table t; -- '",
    "select 1 /*!50000 into outfile '/tmp/x' */",
    'select 1--1; drop table t',
    "select 1 # '\n; drop table t; -- '",
    "select [a'] ; drop table t; select [b']",
  ])
    assert.equal(isSelect(statement), false, statement);
});
