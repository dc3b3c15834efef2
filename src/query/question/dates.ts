/** Dates and ranges that a question names: "3 March", "last week of May 2026", "since Monday". */

/** Calendar days (YYYY-MM-DD), both included; an absent end is open. */
export interface DateRange {
  from?: string;
  to?: string;
}

interface NamedDate {
  /** Best first. A day without a year may be this year's or another's. */
  ranges: readonly DateRange[];
  /** Where it stands in the text. */
  start: number;
  end: number;
}

const dayMs = 86_400_000;
const monthNames = 'january february march april may june july august september october november december'.split(' ');
const weekdayNames = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ');
const numberNames = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ');

const month = `(?<month>${monthNames.map((name) => `${name}|${name.slice(0, 3)}\\.?`).join('|')}|sept\\.?)`;
const weekday = `(?<weekday>${weekdayNames.map((name) => `${name}|${name.slice(0, 3)}`).join('|')})`;
const day = '(?<day>[0-3]?\\d)(?:st|nd|rd|th|\\.)?';
const year = '(?:,?\\s(?<year>(?:19|20)\\d\\d))?';
const amount = `(?<amount>\\d{1,3}|an?|couple of|few|${numberNames.slice(1).join('|')})`;
const unit = '(?<unit>day|week|month|quarter|year)s?';

type Groups = Record<string, string | undefined>;

/** Each rule is anchored by the loop in `findDates`; the first that matches at a place wins. */
const rules: readonly { pattern: RegExp; toRanges: (found: Groups, today: number) => (Span | undefined)[] }[] = [
  rule('(?<iso>\\d{4}-\\d\\d-\\d\\d)', ({ iso = '' }) => [single(parseDay(iso))]),
  rule('(?<year>\\d{4})-(?<number>\\d\\d)(?!\\d)', ({ year: y, number: m }) => [monthSpan(Number(y), Number(m) - 1)]),
  rule(
    `(?<first>[0-3]?\\d)(?:st|nd|rd|th|\\.)?\\s?(?:-|–|to|until|till|through|and)\\s?${day}\\s(?:of\\s)?${month}${year}`,
    ({ first, day: last, month: m = '', year: y }, today) =>
      eachYear(y, today, (at) => join(dayOf(at, m, Number(first)), dayOf(at, m, Number(last)))),
  ),
  rule(`(?<which>first|last|second|third)\\s(?<part>week|day|weekend)\\sof\\s${month}${year}`, partOfMonth),
  rule(`${day}\\s(?:of\\s)?${month}${year}`, ({ day: d, month: m = '', year: y }, today) =>
    eachYear(y, today, (at) => single(dayOf(at, m, Number(d)))),
  ),
  rule(`${month}\\s${day}(?!\\d|:)${year}`, ({ day: d, month: m = '', year: y }, today) =>
    eachYear(y, today, (at) => single(dayOf(at, m, Number(d)))),
  ),
  rule('(?<a>[0-3]?\\d)(?<sign>[./])(?<b>[01]?\\d|[0-3]\\d)[./](?<year>\\d{4}|\\d\\d)', numeric),
  rule(`${month}${year}`, ({ month: m = '', year: y }, today) =>
    // "may" is a month only beside a year or after a preposition, which the loop has seen.
    eachYear(y, today, (at) => monthSpan(at, monthIndex(m))),
  ),
  rule(`q(?<quarter>[1-4])${year}`, ({ quarter, year: y }, today) =>
    eachYear(y, today, (at) => quarterSpan(at, Number(quarter) - 1)),
  ),
  rule('(?:the\\s)?day\\s(?<side>after\\stomorrow|before\\syesterday)', ({ side = '' }, today) => [
    single(today + (side.startsWith('after') ? 2 : -2)),
  ]),
  rule('(?<word>today|tonight|yesterday|tomorrow)', ({ word }, today) => [
    single(today + (word === 'yesterday' ? -1 : word === 'tomorrow' ? 1 : 0)),
  ]),
  rule(
    `(?<which>last|past|previous|next|coming|following)\\s${amount}\\s${unit}`,
    ({ which, amount: n, unit: u }, today) => {
      const length = daysOf(n, u);
      return [isAhead(which) ? { from: today, to: today + length } : { from: today - length, to: today }];
    },
  ),
  rule(
    '(?<which>this|current|last|past|previous|next|coming)\\s(?<unit>weekend|week|month|quarter|year)',
    ({ which, unit: u = '' }, today) => [
      around(u, isAhead(which) ? 1 : which === 'this' || which === 'current' ? 0 : -1, today),
    ],
  ),
  rule(`${amount}\\s${unit}\\sago`, ({ amount: n, unit: u }, today) => [single(today - daysOf(n, u))]),
  rule(`in\\s${amount}\\s${unit}`, ({ amount: n, unit: u }, today) => [single(today + daysOf(n, u))]),
  rule(
    '(?:calendar\\s)?week\\s(?<number>[1-5]?\\d)(?:(?:,?\\s|\\sof\\s)(?<year>20\\d\\d))?',
    ({ number, year: y }, today) => eachYear(y, today, (at) => isoWeek(at, Number(number))),
  ),
  rule(
    `${weekday}\\s(?:in|of)\\s(?:calendar\\s)?week\\s(?<number>[1-5]?\\d)${year}`,
    ({ weekday: name = '', number, year: y }, today) =>
      eachYear(y, today, (at) => {
        const { from } = isoWeek(at, Number(number)) ?? {};
        const index = weekdayNames.findIndex((known) => known.startsWith(name.slice(0, 3)));
        return from === undefined ? undefined : single(from + ((index + 6) % 7));
      }),
  ),
  rule(`(?:(?<which>last|next|this|past|coming)\\s)?${weekday}`, ({ which, weekday: name = '' }, today) => {
    const index = weekdayNames.findIndex((known) => known.startsWith(name.slice(0, 3)));
    const ahead = (index - weekdayOf(today) + 7) % 7;
    const next = single(today + ahead);
    const last = single(today + ahead - 7);
    if (which === 'last' || which === 'past') return [last];
    return which === 'next' ? [single(today + (ahead === 0 ? 7 : ahead))] : [next, last];
  }),
  rule('(?<year>(?:19|20)\\d\\d)', ({ year: y }) => [{ from: toDay(Number(y), 0, 1), to: toDay(Number(y), 11, 31) }]),
];

/** In days since 1970. */
interface Span {
  from?: number;
  to?: number;
}

interface FoundSpans {
  spans: Span[];
  start: number;
  end: number;
}

/** Longer texts than a question are pasted material. */
const readChars = 2_000;
const wordStart = /(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu;

export function findDates(question: string, today: Date): NamedDate[] {
  const text = question.slice(0, readChars).toLowerCase().replace(/\s/g, ' ');
  const now = Math.floor(today.getTime() / dayMs);
  const found: FoundSpans[] = [];
  for (const { index } of text.matchAll(wordStart)) {
    if (index < (found.at(-1)?.end ?? 0)) continue;
    const named = dateAt(text, index, now);
    if (named !== undefined) found.push(named);
  }
  return withEdges(text, found, now).map(({ spans, start, end }) => ({ ranges: spans.map(toRange), start, end }));
}

function dateAt(text: string, index: number, now: number) {
  for (const { pattern, toRanges } of rules) {
    pattern.lastIndex = index;
    const match = pattern.exec(text);
    if (match === null || isOrdinaryWord(match[0], text.slice(0, index))) continue;
    const spans = toRanges(match.groups ?? {}, now).filter((span) => span !== undefined);
    if (spans.length > 0) return { spans, start: index, end: index + match[0].length };
  }
  return undefined;
}

/** "may", "march", "sun" and bare years are dates only where the words before them say so. */
function isOrdinaryWord(found: string, before: string): boolean {
  const isAmbiguous = /^(?:may|mar|march|sun|sat|wed|mon|dec|(?:19|20)\d\d)$/.test(found);
  if (!isAmbiguous) return false;
  return !/(?:^|\s)(?:in|since|during|of|from|to|until|till|by|before|after|on|for|year|this|last|next|early|late|mid|between|and)\s$/.test(
    before,
  );
}

/** Without years, "March to June" is not fifteen months. */
const maxRangeDays = 366;

/** "since", "before", "between … and …" turn days into ranges. */
function withEdges(text: string, found: readonly FoundSpans[], today: number): FoundSpans[] {
  const joined: FoundSpans[] = [];
  for (const date of found) {
    const before = joined.at(-1);
    const between = before === undefined ? '' : text.slice(before.end, date.start);
    const opening = before === undefined ? '' : text.slice(0, before.start);
    const isSecond =
      /^\s(?:to|until|till|through)\s(?:the\s)?$|^\s?[-–]\s?$/.test(between) ||
      (/^\sand\s(?:the\s)?$/.test(between) && /(?:^|\s)between\s(?:the\s)?$/.test(opening));
    if (before !== undefined && isSecond) {
      before.spans = before.spans.flatMap((span) => {
        const until = date.spans.find(({ to = 0 }) => to >= (span.from ?? 0) && to <= (span.from ?? 0) + maxRangeDays);
        return until === undefined ? [] : [{ from: span.from, to: until.to }];
      });
      before.end = date.end;
    } else joined.push({ ...date });
  }
  return joined.flatMap((date) => {
    const edge = edgeWord.exec(text.slice(0, date.start))?.[1];
    // What has been going on since a day began before today.
    const past = date.spans.filter(({ from = today }) => from <= today);
    const spans = edge === 'since' && past.length > 0 ? past : date.spans;
    return spans.length === 0 ? [] : [{ ...date, spans: spans.map((span) => withEdge(edge, span)) }];
  });
}

const edgeWord = /(?:^|\s)(since|after|from|starting|before|until|till|by)\s(?:the\s|on\s)?$/;

function withEdge(edge: string | undefined, span: Span): Span {
  switch (edge) {
    case 'since':
      return { from: span.from };
    case 'from':
    case 'starting':
      return span.from === span.to ? { from: span.from } : span;
    case 'after':
      return { from: span.to === undefined ? undefined : span.to + 1 };
    case 'before':
      return { to: span.from === undefined ? undefined : span.from - 1 };
    case 'until':
    case 'till':
    case 'by':
      return { to: span.to };
    default:
      return span;
  }
}

function rule(pattern: string, toRanges: (found: Groups, today: number) => (Span | undefined)[]) {
  return { pattern: new RegExp(`(?:${pattern})(?![\\p{L}\\p{N}])`, 'yu'), toRanges };
}

/** This year's first, then the nearer of its neighbours. */
function eachYear(named: string | undefined, today: number, make: (year: number) => Span | undefined) {
  if (named !== undefined) return [make(Number(named))];
  const current = new Date(today * dayMs).getUTCFullYear();
  const own = make(current);
  const [nearer, farther] = (own?.to ?? 0) < today ? [current + 1, current - 1] : [current - 1, current + 1];
  return [own, make(nearer), make(farther)];
}

function partOfMonth({ which, part, month: m = '', year: y }: Groups, today: number) {
  return eachYear(y, today, (at) => {
    const { from = 0, to = 0 } = monthSpan(at, monthIndex(m)) ?? {};
    if (part === 'day') return single(which === 'last' ? to : from + ['first', 'second', 'third'].indexOf(which ?? ''));
    if (part === 'weekend') {
      const saturdays = Array.from({ length: to - from + 1 }, (_, i) => from + i).filter((d) => weekdayOf(d) === 6);
      const saturday = saturdays.at(which === 'last' ? -1 : ['first', 'second', 'third'].indexOf(which ?? ''));
      return saturday === undefined ? undefined : { from: saturday, to: saturday + 1 };
    }
    if (which === 'last') return { from: to - 6, to };
    const week = ['first', 'second', 'third'].indexOf(which ?? '');
    return { from: from + 7 * week, to: from + 7 * week + 6 };
  });
}

/** 3.4.2026 is the third of April; 3/4/2026 may be either, American first. */
function numeric({ a, b, sign, year: y = '' }: Groups) {
  const full = y.length === 2 ? 2000 + Number(y) : Number(y);
  const dayFirst = single(validDay(full, Number(b) - 1, Number(a)));
  const monthFirst = single(validDay(full, Number(a) - 1, Number(b)));
  return sign === '.' ? [dayFirst] : [monthFirst, dayFirst];
}

function around(unit: string, step: number, today: number): Span | undefined {
  const monday = today - ((weekdayOf(today) + 6) % 7) + 7 * step;
  const now = new Date(today * dayMs);
  const [y, m] = [now.getUTCFullYear(), now.getUTCMonth()];
  switch (unit) {
    case 'week':
      return { from: monday, to: monday + 6 };
    case 'weekend':
      return { from: monday + 5, to: monday + 6 };
    case 'month':
      return monthSpan(y, m + step);
    case 'quarter':
      return quarterSpan(y, Math.floor(m / 3) + step);
    default:
      return { from: toDay(y + step, 0, 1), to: toDay(y + step, 11, 31) };
  }
}

function isoWeek(y: number, number: number): Span | undefined {
  const fourth = toDay(y, 0, 4);
  const monday = fourth - ((weekdayOf(fourth) + 6) % 7) + 7 * (number - 1);
  return number < 1 || number > 53 ? undefined : { from: monday, to: monday + 6 };
}

function daysOf(amountText: string | undefined, unitText: string | undefined): number {
  const count = /^\d+$/.test(amountText ?? '')
    ? Number(amountText)
    : amountText === 'few'
      ? 3
      : amountText === 'couple of'
        ? 2
        : Math.max(1, numberNames.indexOf(amountText ?? ''));
  return count * ({ day: 1, week: 7, month: 30, quarter: 91, year: 365 }[unitText ?? 'day'] ?? 1);
}

const isAhead = (which: string | undefined): boolean => which === 'next' || which === 'coming' || which === 'following';
const single = (at: number | undefined): Span | undefined => (at === undefined ? undefined : { from: at, to: at });
const join = (from: number | undefined, to: number | undefined): Span | undefined =>
  from === undefined || to === undefined || to < from ? undefined : { from, to };
const monthIndex = (name: string): number => monthNames.findIndex((known) => known.startsWith(name.slice(0, 3)));
const toDay = (y: number, m: number, d: number): number => Math.floor(Date.UTC(y, m, d) / dayMs);
const weekdayOf = (at: number): number => new Date(at * dayMs).getUTCDay();
const dayOf = (y: number, name: string, d: number): number | undefined => validDay(y, monthIndex(name), d);
const monthSpan = (y: number, m: number): Span => ({ from: toDay(y, m, 1), to: toDay(y, m + 1, 0) });
const quarterSpan = (y: number, quarter: number): Span => ({
  from: toDay(y, 3 * quarter, 1),
  to: toDay(y, 3 * quarter + 3, 0),
});

function validDay(y: number, m: number, d: number): number | undefined {
  const at = toDay(y, m, d);
  return m >= 0 && m < 12 && d > 0 && new Date(at * dayMs).getUTCDate() === d ? at : undefined;
}

function parseDay(iso: string): number | undefined {
  const [y = 0, m = 0, d = 0] = iso.split('-').map(Number);
  return validDay(y, m - 1, d);
}

function toRange({ from, to }: Span): DateRange {
  const text = (at: number) => new Date(at * dayMs).toISOString().slice(0, 10);
  return { ...(from === undefined ? {} : { from: text(from) }), ...(to === undefined ? {} : { to: text(to) }) };
}

const isWithin = (iso: string, { from, to }: DateRange): boolean =>
  (from === undefined || iso >= from) && (to === undefined || iso <= to);

/** Days in a server's text as YYYY-MM-DD, those without a year as --MM-DD; months with a year as YYYY-MM. */
export function daysIn(text: string): string[] {
  const days: string[] = [];
  for (const { groups = {} } of text.matchAll(dayInText)) {
    const { iso, d1, m1, y1, d2, m2, y2, d3, m3, y3 } = groups;
    if (iso !== undefined) days.push(iso);
    else if (m1 !== undefined || m2 !== undefined) {
      const index = monthIndex((m1 ?? m2 ?? '').toLowerCase()) + 1;
      days.push(`${y1 ?? y2 ?? '-'}-${pad(index)}-${pad(Number(d1 ?? d2))}`);
    } else if (groups.m4 !== undefined) days.push(`${groups.y4}-${pad(monthIndex(groups.m4.toLowerCase()) + 1)}`);
    else days.push(`${y3}-${pad(Number(m3))}-${pad(Number(d3))}`);
  }
  return days;
}

const pad = (value: number): string => String(value).padStart(2, '0');
const textMonth = `(?:${monthNames.map((name) => name.slice(0, 3)).join('|')})[a-z]{0,6}`;
const dayInText = new RegExp(
  `(?<![\\w])(?:(?<iso>\\d{4}-\\d\\d-\\d\\d)` +
    `|(?<d1>[0-3]?\\d)(?:st|nd|rd|th|\\.)? (?:of )?(?<m1>${textMonth})\\.?(?:,? (?<y1>(?:19|20)\\d\\d))?` +
    `|(?<m2>${textMonth})\\.? (?<d2>[0-3]?\\d)(?:st|nd|rd|th)?(?!\\d)(?:,? (?<y2>(?:19|20)\\d\\d))?` +
    `|(?<d3>[0-3]?\\d)\\.(?<m3>[01]?\\d)\\.(?<y3>(?:19|20)\\d\\d)` +
    `|(?<m4>${textMonth})\\.? (?<y4>(?:19|20)\\d\\d))`,
  'gi',
);

/** Does the text speak of a day in the range? A day without a year counts for any year. */
export function mentionsDay(days: readonly string[], ranges: readonly DateRange[]): boolean {
  return days.some((found) =>
    ranges.some((range) => {
      const hasYear = !found.startsWith('--');
      if (hasYear) return found.length === monthLength ? isWholeMonth(found, range) : isWithin(found, range);
      const years = [range.from?.slice(0, 4), range.to?.slice(0, 4)].filter((at) => at !== undefined);
      return years.some((at) => isWithin(`${at}${found.slice(1)}`, range));
    }),
  );
}

const monthLength = 'YYYY-MM'.length;

/** "August 2025" speaks of a month or a year that was asked for, not of one day in it. */
const isWholeMonth = (month: string, range: DateRange): boolean =>
  isWithin(`${month}-01`, range) && isWithin(`${month}-28`, range);

/** "Sunday" may be the next one, or any. */
export function weekdayIn(text: string): string | undefined {
  return weekdayNames.find((name) => text === name || text === name.slice(0, 3));
}
