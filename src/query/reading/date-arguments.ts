/** Dates of the question as the arguments that a tool takes. Pure. */
import type { DateRange } from '../question/dates.ts';
import type { Question } from '../question/question.ts';
import type { Parameter, ParameterRole } from '../strategy/parameters.ts';
import type { Operation } from '../strategy/strategy.ts';
import type { ArgumentValue } from './bind.ts';

/** One way to understand and to spell the question's date. */
export interface DateChoice {
  /** Absent: the call is not narrowed. */
  range?: DateRange;
  /** How ends are spelt where nothing says so. */
  spelling: 'mixed' | 'day' | 'moment';
}

/** Readings of a date ("3 March": of which year?) that are tried. */
const maxReadings = 3;

export const isDate = ({ role }: Parameter): boolean => role.kind === 'date';

/** Best first; the next is tried when one is refused or finds nothing. */
export function dateChoices({ parameters }: Operation, { dates }: Question): DateChoice[] {
  const [readings = []] = dates;
  const isUnsaid = parameters.some(({ role }) => role.kind === 'date' && role.format === 'unsaid');
  const spelt = readings.slice(0, maxReadings).flatMap((range): DateChoice[] => {
    // Texts that are compared letter by letter, and parsers of moments, both take a day first and its end last.
    if (isUnsaid)
      return [
        { range, spelling: 'mixed' },
        { range, spelling: 'day' },
        { range: withNextDay(range), spelling: 'moment' },
      ];
    const next = withNextDay(range);
    return [{ range, spelling: 'day' }, ...(next === range ? [] : [{ range: next, spelling: 'day' as const }])];
  });
  const canBeOpen = spelt.length === 0 || parameters.every((parameter) => !isDate(parameter) || !parameter.isRequired);
  const open: DateChoice[] = isUnsaid ? [{ spelling: 'mixed' }, { spelling: 'day' }] : [{ spelling: 'day' }];
  return canBeOpen ? [...spelt, ...open] : spelt;
}

/** Servers that take a day for its midnight find nothing between a day and itself. */
function withNextDay(range: DateRange): DateRange {
  if (range.to === undefined || range.from !== range.to) return range;
  return { from: range.from, to: new Date(Date.parse(range.to) + dayMs).toISOString().slice(0, 10) };
}

/** A range that the question leaves open covers a year in both directions. */
const openDays = 366;

export function dateValues(
  parameter: Parameter,
  { range, spelling }: DateChoice,
  operation: Operation,
): ArgumentValue[] {
  if (parameter.role.kind !== 'date') return [];
  const { edge } = parameter.role;
  const format = (day: string): unknown => formatDay(day, parameter.role as DateRole, spelling);
  if (range === undefined) {
    const isRange = operation.parameters.some(({ role }) => role.kind === 'date' && role.edge !== edge);
    if (!parameter.isRequired || edge === 'day' || !isRange) return [];
    return [{ value: format(shiftedDay(edge === 'start' ? -openDays : openDays)) }];
  }
  const day =
    edge === 'end'
      ? (range.to ?? (parameter.isRequired ? shiftedDay(openDays) : undefined))
      : (range.from ?? (edge === 'day' ? range.to : parameter.isRequired ? shiftedDay(-openDays) : undefined));
  return day === undefined ? [] : [{ value: format(day), context: spoken(range) }];
}

const dayMs = 86_400_000;
const shiftedDay = (days: number): string => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10);

/** Both ends, so that any spelling of a day between them is recognised. */
const spoken = ({ from = '', to = '' }: DateRange): string => `${from} ${to}`;

/** As the description spells it: DD.MM.YYYY. */
function written(day: string, pattern: string): string {
  const [year = '', month = '', date = ''] = day.split('-');
  return pattern.replace(/y+/i, year).replace(/m+/i, month).replace(/d+/i, date);
}

/** ISO 8601: the week that holds the Thursday. */
function weekOf(day: string): number {
  const at = Date.parse(day);
  const thursday = new Date(at + (3 - ((new Date(at).getUTCDay() + 6) % 7)) * dayMs);
  const firstOfYear = Date.UTC(thursday.getUTCFullYear(), 0, 1);
  return 1 + Math.floor((thursday.getTime() - firstOfYear) / (7 * dayMs));
}

type DateRole = Extract<ParameterRole, { kind: 'date' }>;

function formatDay(day: string, { format, edge, pattern = '' }: DateRole, spelling: DateChoice['spelling']): unknown {
  const moment = edge === 'end' ? `${day}T23:59:59Z` : `${day}T00:00:00Z`;
  switch (format) {
    case 'moment':
      return moment;
    case 'seconds':
      return Math.floor(Date.parse(moment) / 1_000);
    case 'milliseconds':
      return Date.parse(moment);
    case 'week':
      return weekOf(day);
    case 'month':
      return day.slice(0, 7);
    case 'written':
      return written(day, pattern);
    case 'year':
      return Number(day.slice(0, 4));
    case 'unsaid':
      return spelling === 'moment' || (spelling === 'mixed' && edge === 'end') ? moment : day;
    default:
      return day;
  }
}
