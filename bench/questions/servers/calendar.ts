/** A calendar that answers for days and ranges of days: no annotations, one bare line per event. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { start, text, writes } from './stand-in.ts';

const dayMs = 86_400_000;

/** Events of 2026 that happen once: date, time, title, place, who. */
const single = `
01-14 10:00-11:00 | Dentist | Dr Ravn, Vestergade 8 | private
01-20 13:00-14:30 | Supplier review: membranes | room Bittern | Leopold Kranz, Felix Auer
02-04 09:00-12:00 | First-aid course, part one | canteen Aarhus | Ingrid Moe
02-05 09:00-12:00 | First-aid course, part two | canteen Aarhus | Ingrid Moe
02-17 11:00-11:45 | Call with Tyrholm about the agreement | phone | Nadia Rahal
03-03 09:30-10:15 | Calibration review | room Avocet | Yuki Arai, Felix Auer
03-03 14:00-15:00 | Interview: Liselotte Aaberg, firmware | room Curlew | Yuki Arai, Oona Salmi
03-04 14:00-15:00 | Interview: Pedro Quintela, firmware | room Curlew | Yuki Arai, Oona Salmi
03-12 16:00-17:30 | Board meeting | room Avocet | Maren Holt, Greta Nyholm
03-19 08:00-18:00 | Trade fair Hydro Expo | Lyon, hall 4 | Keziah Boone, Dele Adeyemi
03-20 08:00-16:00 | Trade fair Hydro Expo | Lyon, hall 4 | Keziah Boone
04-08 12:00-13:00 | Lunch with Ostrava waterworks | Restaurant Frederiksgade 42 | Dele Adeyemi
04-15 09:00-10:00 | Budget review, second quarter | room Bittern | Greta Nyholm
04-22 07:30-19:00 | Inspection tour: Kilnsea, Spurn, Hornsea | van 2 | Owen Pritchard
04-23 07:30-19:00 | Inspection tour: Whitby, Staithes | van 2 | Owen Pritchard
05-07 18:30-22:00 | Choir concert | Sankt Pauls Kirke | private
05-12 10:00-12:00 | Penetration test kick-off with Redstart Security | video | Idris Vaughan
05-26 09:00-17:00 | Workshop: reliability of the alarm chain | Porto, room Douro | Samir Haddad, Idris Vaughan
05-27 09:00-17:00 | Workshop: reliability of the alarm chain | Porto, room Douro | Samir Haddad, Idris Vaughan
05-28 15:00-16:00 | Farewell of Henning Juhl | canteen Aarhus | everyone
05-29 11:00-12:00 | Decision on the new enclosure | room Avocet | Tomás Figueira, Chiara Bellini
06-09 10:00-11:30 | Audit of the calibration lab by DANAK | lab 2 | Felix Auer
06-16 13:00-14:00 | Review with Tidewater Board | video | Paula Lindqvist
06-21 17:20-20:05 | Flight SK 2593 to Porto | Billund, gate opens 16:40 | private
06-23 19:00-22:00 | São João dinner with the Porto team | Casa Guedes | Chiara Bellini
07-02 09:00-11:00 | Fire drill | Leeds, all floors | Ingrid Moe
07-13 00:00-23:59 | Summer closing begins | all offices | everyone
08-03 09:00-09:30 | Restart after the summer | video | everyone
08-19 14:00-16:00 | Photo session for Siskin 2 | studio Lomme, Malmö | Keziah Boone
08-20 10:00-11:00 | Contract talk with Brevia | phone | Nadia Rahal, Samir Haddad
09-08 09:00-17:00 | Auditors in the house | room Bittern | Greta Nyholm
09-09 09:00-17:00 | Auditors in the house | room Bittern | Greta Nyholm
09-22 12:00-13:00 | Lunch talk: reading satellite images, by Ulla Brask | canteen Aarhus | Ravi Menon
09-24 12:00-13:00 | Lunch talk: knots for riggers, by Owen Pritchard | canteen Aarhus | Owen Pritchard
10-06 10:00-11:00 | Handover of the Glen Orrin site | video | Owen Pritchard
10-13 16:00-17:00 | School visit: class 7b from Egå | workshop Aarhus | Ingrid Moe
10-30 15:00-18:00 | Pumpkin carving | canteen Aarhus | everyone
11-12 07:00-09:00 | Boiler service | Leeds, plant room | Ingrid Moe
11-24 09:00-12:00 | Strategy day | Hotel Marselis | Maren Holt
12-11 18:00-23:30 | Christmas dinner | Restaurant Komfur | everyone
12-18 10:00-11:00 | Year-end review | room Avocet | Maren Holt, Greta Nyholm
`;
/** Weekly events: weekday (0 is Sunday), time, title, place, who. */
const weekly: [number, string][] = [
  [1, '09:15-09:30 | Stand-up firmware | room Curlew | Yuki Arai'],
  [2, '11:00-11:30 | Support triage | video | Paula Lindqvist'],
  [3, '09:15-09:30 | Stand-up portal | room Curlew | Ravi Menon'],
  [4, '13:00-13:45 | Hardware sync | video | Tomás Figueira'],
  [5, '15:30-16:00 | Demo | canteen Aarhus | everyone'],
];

const once = single
  .trim()
  .split('\n')
  .map((line) => ({ date: `2026-${line.slice(0, 5)}`, line: line.slice(6) }));
const recurring = Array.from({ length: 365 }, (_, day) => new Date(Date.UTC(2026, 0, 1) + day * dayMs)).flatMap(
  (date) =>
    weekly
      .filter(([weekday]) => weekday === date.getUTCDay())
      .map(([, line]) => ({ date: date.toISOString().slice(0, 10), line })),
);
const events = [...once, ...recurring].toSorted((a, b) => `${a.date} ${a.line}`.localeCompare(`${b.date} ${b.line}`));

const between = (from: string, to: string) => {
  const found = events.filter(({ date }) => date >= from && date <= to);
  return text(found.map(({ date, line }) => `${date} ${line}`).join('\n') || 'No events.');
};

const isoDate = z.iso.date();
const server = new McpServer({ name: 'daybook', version: '1.4.2' });
server.registerTool(
  'get_events',
  {
    description: 'Events of a range of days, both included.',
    inputSchema: { start_date: isoDate.describe('YYYY-MM-DD'), end_date: isoDate.describe('YYYY-MM-DD') },
  },
  ({ start_date, end_date }) => between(start_date, end_date),
);
server.registerTool(
  'get_day',
  { description: 'The agenda of one day.', inputSchema: { date: isoDate.describe('The day, YYYY-MM-DD') } },
  ({ date }) => between(date, date),
);
server.registerTool('list_calendars', { description: 'The calendars of this account.' }, () =>
  text('work (default), colour teal, shared with 41 people\nprivate, colour plum\nholidays Denmark, subscribed'),
);

const event_id = z.string();
writes(server, 'create_event', 'Add an event.', { title: z.string(), date: isoDate, time: z.string() });
writes(server, 'move_event', 'Move an event to another day.', { event_id, date: isoDate });
writes(server, 'cancel_event', 'Cancel an event and tell the guests.', { event_id });
writes(server, 'rsvp', 'Answer an invitation.', { event_id, answer: z.enum(['yes', 'no', 'maybe']) });

await start(server);
