/**
 * Questions to a database through a tool that takes statements: its tables and columns are read once, then bounded
 * SELECTs look for the question's words in the text columns. Pure: schema and question in, statements out.
 */

import { singular, stem } from '../../similarity/stem.ts';
import type { DateRange } from '../question/dates.ts';
import type { Question, Term } from '../question/question.ts';
import { nameWords } from '../strategy/read-only.ts';
import type { Entry } from './entries.ts';

interface Column {
  name: string;
  /** Declared: it holds a value of that column. */
  parent?: { table: string; column: string };
  type: 'text' | 'number' | 'date' | 'other';
}

export interface Table {
  name: string;
  columns: readonly Column[];
}

interface Statement {
  sql: string;
  /** Said of every row that comes back: the table, and what the columns were filtered by. */
  context: string;
  /** Higher first. */
  priority: number;
  /** It counts or adds up what the question asks to be counted or added up. */
  isAggregate: boolean;
}

/** SQLite's own catalogue, then the standard one; a database answers one of them. */
export const schemaStatements: readonly string[] = [
  'SELECT m.name AS table_name, c.name AS column_name, c.type AS data_type, f."table" AS parent_table, f."to" AS parent_column ' +
    'FROM sqlite_master m JOIN pragma_table_info(m.name) c LEFT JOIN pragma_foreign_key_list(m.name) f ON f."from" = c.name ' +
    "WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%' LIMIT 1000",
  "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema NOT IN ('information_schema', 'pg_catalog', 'mysql', 'performance_schema', 'sys') LIMIT 1000",
];

/** From the rows of a schema statement. */
export function tablesOf(entries: readonly Entry[]): Table[] {
  const byTable = Map.groupBy(
    entries.flatMap(({ fields }) => {
      const find = (name: string) => Object.entries(fields).find(([key]) => key.toLowerCase() === name)?.[1];
      const [table, column, type] = [find('table_name'), find('column_name'), find('data_type')];
      const [parent, parentColumn] = [find('parent_table'), find('parent_column')];
      const leads =
        typeof parent === 'string'
          ? { parent: { table: parent, column: typeof parentColumn === 'string' ? parentColumn : 'id' } }
          : {};
      return typeof table === 'string' && typeof column === 'string'
        ? [{ table, column, type: String(type ?? ''), ...leads }]
        : [];
    }),
    ({ table }) => table,
  );
  return [...byTable].map(([name, columns]) => ({
    name,
    columns: columns.map(({ column, type, parent }) => ({
      name: column,
      type: columnType(column, type),
      ...(parent === undefined ? {} : { parent }),
    })),
  }));
}

function columnType(name: string, type: string): Column['type'] {
  const words = nameWords(name);
  if (
    /date|time/i.test(type) ||
    (!/int|real|num|dec|float|double/i.test(type) &&
      words.some((word) => ['date', 'at', 'day', 'on', 'month', 'due', 'until', 'since', 'expires'].includes(word)))
  )
    return 'date';
  if (/char|text|clob|string/i.test(type) || type === '') return 'text';
  return /int|num|dec|real|float|double|money|serial/i.test(type) ? 'number' : 'other';
}

const maxStatements = 16;
const maxKeywords = 5;
const maxRows = 12;

/** How near two words are, 0 to 1. */
export type Nearness = (a: string, b: string) => number;

export function statementsFor(tables: readonly Table[], question: Question, near: Nearness): Statement[] {
  const joined = tables.map((table) => joinParents(table, tables));
  const scored = joined
    .map((view) => ({ view, fit: tableFit(view, question.terms, near) }))
    .toSorted((a, b) => b.fit - a.fit || b.view.joins.length - a.view.joins.length);
  const best = scored[0]?.fit ?? 0;
  const statements = scored.flatMap(({ view, fit }) => [
    ...(fit >= minFit && fit >= best * 0.6 ? aggregates(view, question, near, fit) : []),
    ...lookUps(view, question, near, fit),
  ]);
  return statements.toSorted((a, b) => b.priority - a.priority).slice(0, maxStatements);
}

/** Below, the question does not speak of the table. */
const minFit = 0.35;

/** A table with the tables that its foreign keys lead to, so that one row reads as a person would tell it. */
interface SqlView {
  table: Table;
  joins: { table: Table; alias: string; on: string /** What the parent is to the row: "customer". */; noun: string }[];
  columns: (Column & { alias: string; table: string })[];
}

const maxJoins = 6;

function joinParents(table: Table, tables: readonly Table[]): SqlView {
  const joins: SqlView['joins'] = [];
  const add = (child: Table, childAlias: string, prefix: string): void => {
    for (const key of child.columns) {
      const parent = parentOf(key, child, tables);
      if (parent === undefined || joins.length >= maxJoins || parent.table === table) continue;
      const alias = `j${joins.length + 1}`;
      const words = nameWords(key.name);
      const noun = `${prefix}${(words.length > 1 ? words.slice(0, -1) : words).join('_')}`;
      joins.push({
        table: parent.table,
        alias,
        noun,
        on: `${alias}.${quote(parent.id)} = ${childAlias}.${quote(key.name)}`,
      });
    }
  };
  add(table, 't', '');
  // Whom the things belong to that the row speaks of.
  for (const { table: parent, alias, noun } of [...joins]) add(parent, alias, `${noun}_`);
  const columns = [
    ...table.columns.map((column) => ({ ...column, alias: 't', table: table.name })),
    ...joins.flatMap(({ table: parent, alias }) =>
      parent.columns.filter(({ type }) => type === 'text').map((column) => ({ ...column, alias, table: parent.name })),
    ),
  ];
  return { table, joins, columns };
}

/** `customer_id` leads to the `id` (or `customer_id`) of `customers`. */
function parentOf(
  { name, parent }: Column,
  own: Table,
  tables: readonly Table[],
): { table: Table; id: string } | undefined {
  const declared = parent === undefined ? undefined : tables.find((table) => table.name === parent.table);
  if (parent !== undefined && declared !== undefined) return { table: declared, id: parent.column };
  const words = nameWords(name);
  if (words.length < 2 || !['id', 'key', 'code', 'no'].includes(words.at(-1) ?? '')) return undefined;
  const noun = words.slice(0, -1).join(' ');
  for (const table of tables) {
    if (table === own) continue;
    const tableNoun = nameWords(table.name).map(singular).join(' ');
    if (tableNoun !== noun && !noun.endsWith(` ${tableNoun}`) && !tableNoun.endsWith(` ${noun}`)) continue;
    const id =
      table.columns.find((column) => column.name.toLowerCase() === 'id') ??
      table.columns.find((column) => column.name === name);
    if (id !== undefined) return { table, id: id.name };
  }
  return undefined;
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** How much of the question speaks of this table: its name, its columns. */
function tableFit({ table, joins, columns }: SqlView, terms: readonly Term[], near: Nearness): number {
  const best = (term: Term, names: readonly string[]): number =>
    Math.max(
      0,
      ...names.flatMap((name) => nameWords(name).map((word) => (stem(word) === term.stem ? 1 : near(word, term.text)))),
    );
  return terms.reduce((sum, term) => {
    if (term.kind !== 'word') return sum;
    const own = best(term, [table.name]);
    const others = best(
      term,
      joins.map((join) => join.table.name),
    );
    const ofColumns = best(
      term,
      columns.map((column) => column.name),
    );
    // What is asked for is what the rows are.
    return sum + term.weight * Math.max(own * (term.isFocus ? 1.5 : 1), 0.7 * others, 0.6 * ofColumns);
  }, 0);
}

/** Words that may stand in a row: not those that only name its table or columns. */
function valueKeywords({ table, joins, columns }: SqlView, question: Question): string[] {
  const names = new Set([
    ...[table.name, ...joins.map((join) => join.table.name)].flatMap((name) => nameWords(name).map(stem)),
    ...columns.map((column) => nameWords(column.name)).flatMap((words) => (words.length === 1 ? words.map(stem) : [])),
  ]);
  const isMeasure = (word: string): boolean => dimensions.has(word) || /(?:est)$/.test(word);
  const words = question.terms
    .filter((term) =>
      term.kind === 'word'
        ? term.weight > 0.35 && !names.has(term.stem) && !isMeasure(term.text)
        : term.kind !== 'date',
    )
    .toSorted((a, b) => Number(b.kind !== 'word') - Number(a.kind !== 'word') || b.weight - a.weight)
    .map((term) => (term.kind === 'word' ? root(term.text) : term.text));
  return [...new Set(words)].slice(0, maxKeywords);
}

/** "refunds" is found by "refund", "delayed" by "delay". */
const root = (word: string): string =>
  word.length > 4 ? word.replace(/(?:ies|ied)$/, '').replace(/(?:ing|ed|es|s)$/, '') : word;

/** An underscore stands for any character, itself included; a backslash would mean something else to each database. */
const likeText = (text: string): string => literal(`%${text.toLowerCase().replace(/[%\\]/g, '_')}%`);

/** No column can hold the word. */
const noMatch = '1 = 0';

function matches({ columns }: SqlView, keyword: string): string {
  const textual = columns.filter(({ type }) => type === 'text').slice(0, 16);
  const isNumber = /^\d+$/.test(keyword);
  const numeric = isNumber ? columns.filter(({ type, alias }) => type === 'number' && alias === 't') : [];
  const tests = [
    ...textual.map((column) => `LOWER(${column.alias}.${quote(column.name)}) LIKE ${likeText(keyword)}`),
    ...numeric.map((column) => `${column.alias}.${quote(column.name)} = ${keyword}`),
  ];
  return tests.length === 0 ? noMatch : `(${tests.join(' OR ')})`;
}

function from({ table, joins }: SqlView): string {
  return [
    `FROM ${quote(table.name)} t`,
    ...joins.map((join) => `LEFT JOIN ${quote(join.table.name)} ${join.alias} ON ${join.on}`),
  ].join(' ');
}

/** The table's own columns, and the texts of those it leads to under telling names. */
function selection({ joins }: SqlView): string {
  const others = joins.flatMap(({ table, alias, noun }) =>
    table.columns
      .filter(({ type }) => type === 'text')
      .slice(0, 4)
      .map((column) => `${alias}.${quote(column.name)} AS ${quote(`${noun}_${column.name}`)}`),
  );
  return ['t.*', ...others].join(', ');
}

function dateFilter(
  { table, columns }: SqlView,
  ranges: readonly DateRange[] | undefined,
): { sql: string; context: string } | undefined {
  const [range] = ranges ?? [];
  const column = columns.find(({ type, alias }) => type === 'date' && alias === 't');
  if (range === undefined || column === undefined) return undefined;
  const value = `CAST(t.${quote(column.name)} AS CHAR(30))`;
  const tests = (ranges ?? []).map(({ from: start, to: end }) =>
    [
      ...(start === undefined ? [] : [`${value} >= ${literal(start)}`]),
      ...(end === undefined ? [] : [`${value} < ${literal(`${end}~`)}`]),
    ].join(' AND '),
  );
  return {
    sql: `(${tests.map((test) => `(${test})`).join(' OR ')})`,
    context: `${table.name} ${range.from ?? ''} ${range.to ?? ''}`,
  };
}

function lookUps(view: SqlView, question: Question, near: Nearness, fit: number): Statement[] {
  const order = orderFor(view, question, near);
  const certain = question.terms.some((term) => term.kind === 'name' || term.kind === 'literal');
  // The longest boat of all: an ordinary word beside it narrows nothing.
  const asked = order !== undefined && !certain ? [] : valueKeywords(view, question);
  const keywords = asked.filter((keyword) => matches(view, keyword) !== noMatch);
  const dates = dateFilter(view, question.dates[0]);
  const score = keywords.map((keyword) => `CASE WHEN ${matches(view, keyword)} THEN 1 ELSE 0 END`).join(' + ');
  const any = keywords.map((keyword) => matches(view, keyword)).join(' OR ');
  const conditions = [...(any === '' ? [] : [`(${any})`]), ...(dates === undefined ? [] : [dates.sql])];
  // Without a word to look for, the rows are worth showing only where the question is about this table.
  if (conditions.length === 0 && fit < 0.5) return [];
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  const orderBy = [...(score === '' ? [] : [`${score} DESC`]), ...(order === undefined ? [] : [order])];
  const sql = `SELECT ${selection(view)} ${from(view)}${where}${orderBy.length === 0 ? '' : ` ORDER BY ${orderBy.join(', ')}`} LIMIT ${maxRows}`;
  const context = `${view.table.name} database table ${order === undefined ? '' : question.words.filter((word) => dimensions.has(word) || superlatives.has(word)).join(' ')} ${dates?.context ?? ''}`;
  const priority = fit + (keywords.length > 0 ? 0.5 : 0) + 0.1 * view.joins.length;
  // The row that leads its own table by what is asked for is the answer; led by a child's rows, it is not.
  return [{ sql, context, priority, isAggregate: order !== undefined && isAskedFor(view, question) }];
}

/** The question asks for what the rows of the table are. */
const isAskedFor = ({ table }: SqlView, { terms }: Question): boolean =>
  nameWords(table.name).some((word) => terms.some((term) => term.isFocus && term.stem === stem(word)));

/** "most expensive", "latest": by the column that the question speaks of. */
function orderFor(view: SqlView, question: Question, near: Nearness): string | undefined {
  const { wants } = question;
  if (wants.has('latest') || wants.has('earliest')) {
    const date = view.columns.find(({ type, alias }) => type === 'date' && alias === 't');
    if (date !== undefined) return `t.${quote(date.name)} ${wants.has('latest') ? 'DESC' : 'ASC'}`;
  }
  if (!wants.has('most') && !wants.has('least')) return undefined;
  const column = numericColumn(view, question, near);
  return column === undefined ? undefined : `t.${quote(column.name)} ${wants.has('most') ? 'DESC' : 'ASC'}`;
}

function numericColumn(view: SqlView, question: Question, near: Nearness): Column | undefined {
  const candidates = view.columns.filter(
    ({ type, alias, name }) => type === 'number' && alias === 't' && !/(?:^|_)id$/i.test(name),
  );
  const asked = [
    ...question.terms.map(({ text }) => text),
    ...question.words.flatMap((word) => dimensions.get(word) ?? []),
    ...(question.wants.has('sum') ? ['amount', 'total'] : []),
  ];
  const fits = candidates.map((column) => {
    const words = nameWords(column.name);
    const fit = Math.max(
      0,
      ...asked.flatMap((term) => words.map((word) => (stem(word) === stem(term) ? 1 : near(word, term)))),
    );
    return { column, fit };
  });
  const [best] = fits.toSorted((a, b) => b.fit - a.fit);
  return best !== undefined && (best.fit > 0.25 || candidates.length === 1) ? best.column : undefined;
}

const superlatives = new Set(
  'most least latest newest earliest oldest last first highest lowest top recent'.split(' '),
);

/** What a superlative is measured by. */
const dimensions: ReadonlyMap<string, string> = new Map(
  Object.entries({
    longest: 'length',
    shortest: 'length',
    tallest: 'height',
    highest: 'height',
    deepest: 'depth',
    heaviest: 'weight',
    lightest: 'weight',
    widest: 'width',
    largest: 'size',
    biggest: 'size',
    smallest: 'size',
    oldest: 'year',
    youngest: 'age',
    cheapest: 'price',
    priciest: 'price',
    expensive: 'price',
    fastest: 'speed',
    slowest: 'speed',
  }),
);

/** Counts and sums over the rows that hold every name and number of the question. */
function aggregates(view: SqlView, question: Question, near: Nearness, fit: number): Statement[] {
  const { wants, dates } = question;
  const dated = dateFilter(view, dates[0]);
  const strict = question.terms
    .filter((term) => term.kind === 'name' || term.kind === 'literal')
    .map((term) => term.text);
  // "How many open invoices?": where nothing is named, a word of the question may be a value.
  const values = strict.length > 0 ? [] : valueKeywords(view, question).slice(0, 2);
  const filters = [strict, ...values.map((word) => [word])].map((words) => toFilter(view, words, dated));
  const column = wants.has('sum') || wants.has('average') ? numericColumn(view, question, near) : undefined;
  const measures: [expression: string, title: string][] = [
    ...(wants.has('count') ? [['COUNT(*)', 'number'] as [string, string]] : []),
    ...(column !== undefined && wants.has('sum') ? [measure('SUM', 'total', column)] : []),
    ...(column !== undefined && wants.has('average') ? [measure('AVG', 'average', column)] : []),
  ];
  const statements = measures.flatMap(([expression, title]) =>
    filters.map(({ where, says, context, words }) => ({
      sql: `SELECT ${expression} AS ${quote(`${title} of ${view.table.name}${says}`.slice(0, 60))} ${from(view)}${where}`,
      context,
      // What is narrowed by more words answers more of the question.
      priority: fit + 1 + 0.1 * words,
      isAggregate: true,
    })),
  );
  const parent = wants.has('most') || wants.has('least') ? parentAsked(view, question, near) : undefined;
  const [first] = filters;
  return parent === undefined || first === undefined
    ? statements
    : [...statements, mostOf(view, parent, question, first.where, first.context, fit)];
}

const measure = (name: string, title: string, { name: column }: Column): [string, string] => [
  `${name}(t.${quote(column)})`,
  `${title} ${column}`,
];

function toFilter(view: SqlView, words: readonly string[], dated: { sql: string; context: string } | undefined) {
  const conditions = [...words.map((word) => matches(view, word)), ...(dated === undefined ? [] : [dated.sql])];
  return {
    where: conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`,
    says: words.length === 0 ? '' : ` with ${words.join(' and ')}`,
    context: [view.table.name, 'database table', ...words, dated?.context ?? ''].join(' '),
    words: words.length,
  };
}

/** "Which customer has the most orders?": the rows of a child table, counted by parent. */
function parentAsked(view: SqlView, { terms }: Question, near: Nearness): SqlView['joins'][number] | undefined {
  const speaksOf = (name: string) =>
    terms.some(
      (term) =>
        term.kind === 'word' && nameWords(name).some((word) => stem(word) === term.stem || near(word, term.text) > 0.5),
    );
  return speaksOf(view.table.name) ? view.joins.find((join) => speaksOf(join.table.name)) : undefined;
}

function mostOf(
  view: SqlView,
  parent: SqlView['joins'][number],
  question: Question,
  where: string,
  context: string,
  fit: number,
): Statement {
  const label = parent.table.columns.filter(({ type }) => type === 'text').slice(0, 2);
  const columns = label.map((column) => `${parent.alias}.${quote(column.name)}`).join(', ');
  const direction = question.wants.has('least') ? 'ASC' : 'DESC';
  return {
    sql: `SELECT ${columns}, COUNT(*) AS ${quote(`number of ${view.table.name}`)} ${from(view)}${where} GROUP BY ${columns} ORDER BY COUNT(*) ${direction} LIMIT 5`,
    context: `${context} ${parent.table.name} most`,
    priority: fit + 0.9,
    isAggregate: true,
  };
}
