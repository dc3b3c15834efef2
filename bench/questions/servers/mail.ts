/** A mailbox: annotated camelCase tools, search operators, folders listed with a cursor, JSON. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import {
  changing,
  createSampler,
  destructive,
  failure,
  hasAllWords,
  json,
  pageOf,
  readOnly,
  start,
  writes,
} from './stand-in.ts';

interface Message {
  id: string;
  folder: string;
  date: string;
  from: string;
  subject: string;
  body: string;
}

/** Folder, date, sender, subject, body. */
const written: [string, string, string, string, string][] = [
  [
    'Inbox',
    '2026-02-11',
    'bram.dewit@tarnwell.example',
    'Container from Busan',
    'Hello all, the ship with our circuit boards docked on Tuesday. Our container is TCLU 482913-7. Customs in Rotterdam want the origin certificate before they release it, I have asked the factory to send it by courier.\nBram',
  ],
  [
    'Inbox',
    '2026-02-19',
    'bram.dewit@tarnwell.example',
    'Container from Ningbo',
    'Hello all, the enclosures left Ningbo with a week of delay. The container is MSKU 730064-1, due in Hamburg on 22 March.\nBram',
  ],
  [
    'Inbox',
    '2026-04-02',
    'quotes@corda-plastics.example',
    'Our offer: 2,000 vent tubes',
    'Dear Mr Kranz, we are pleased to offer 2,000 vent tubes, 3 mm, UV resistant, at a total of 3,180 euros, delivery six weeks after order.',
  ],
  [
    'Inbox',
    '2026-04-09',
    'quotes@corda-plastics.example',
    'Our offer: 5,000 cable glands',
    'Dear Mr Kranz, for 5,000 cable glands M16 we can offer a total of 1,240 euros, delivery two weeks after order.',
  ],
  [
    'Inbox',
    '2026-04-14',
    'sales@membrana.example',
    'Quotation for ceramic membranes',
    'For 400 ceramic membranes with a range of 10 m we quote 4,960 euros. The price is valid until 31 May.',
  ],
  [
    'Inbox',
    '2026-05-06',
    'greta.nyholm@tarnwell.example',
    'Who audits us this year',
    'The board has decided to change. Starting with this fiscal year the books are audited by Hartwig & Sole. They will visit Aarhus in September and need a room for three people.',
  ],
  [
    'Inbox',
    '2026-03-10',
    'nadia.rahal@tarnwell.example',
    'Tyrholm wants changes to the agreement',
    'Tyrholm sent back the confidentiality agreement. They ask for a term of seven years, we had offered three. I propose to meet at five.',
  ],
  [
    'Inbox',
    '2026-03-26',
    'nadia.rahal@tarnwell.example',
    'Trademark for Siskin in Brazil',
    'The office in Rio has accepted our application for the name. Opposition is possible until 2 June.',
  ],
  [
    'Inbox',
    '2026-08-04',
    'keziah.boone@tarnwell.example',
    'Siskin 2: when do we launch',
    'After the talk with the distributors the launch of Siskin 2 moves to 5 October. Please correct your slides.',
  ],
  [
    'Inbox',
    '2026-05-20',
    'dele.adeyemi@tarnwell.example',
    'Ostrava signed',
    'Good news: the waterworks of Ostrava signed the frame contract. They pay within 30 days, I could not get them to less. First delivery in July.',
  ],
  [
    'Travel',
    '2026-05-28',
    'reservas@miramar.example',
    'Reservation confirmed: Porto, 21 June',
    'Thank you for choosing the Hotel Miramar. Your reservation HMP-77120, two nights from 21 June 2026, double room with breakfast, is confirmed.',
  ],
  [
    'Travel',
    '2026-06-02',
    'reservas@miramar.example',
    'Reservation confirmed: Porto, 9 November',
    'Thank you for choosing the Hotel Miramar. Your reservation HMP-80931, four nights from 9 November 2026, single room, is confirmed.',
  ],
  [
    'Travel',
    '2026-06-11',
    'tickets@dsb.example',
    'Your ticket Aarhus to Hamburg',
    'Train 386 leaves Aarhus H at 07:52. Coach 31, seat 64. Please bring an identity card.',
  ],
  [
    'Insurance',
    '2026-07-17',
    'claims@northmark.example',
    'Your claim: damage to a van',
    'We received your report about the van with the plate BT 41 882. The claim is registered as VK-2026-00831. A surveyor will call within five days.',
  ],
  [
    'Insurance',
    '2026-07-30',
    'claims@northmark.example',
    'Your claim: water in the cellar',
    'We received your report about water damage in Leeds. The claim is registered as WS-2026-01177.',
  ],
  [
    'Inbox',
    '2026-10-27',
    'office@quarry-estates.example',
    'Heating maintenance at Leeds',
    'Dear tenant, our engineer services the boiler on Thursday 12 November between 7 and 9 in the morning. Please make sure the plant room is open.',
  ],
  [
    'Inbox',
    '2026-09-03',
    'owen.pritchard@tarnwell.example',
    'Key for the hut at Glen Orrin',
    'The estate changed the lock. The new key is with Mrs Dunbar at the post office in Cannich, ask for the Tarnwell envelope.',
  ],
  [
    'Inbox',
    '2026-01-22',
    'support@ledgerly.example',
    'Your plan changes on 1 April',
    'From 1 April the Team plan costs 14.50 euros per seat and month. Nothing changes for seats that are paid for the year.',
  ],
];

const sampler = createSampler(23);
const notices = [
  [
    'Newsletters',
    'news@hydrology.example',
    'Hydrology weekly',
    'New gauges on the Vistula, a call for papers and three open positions.',
  ],
  [
    'Newsletters',
    'hello@gardenpost.example',
    'Garden post',
    'What to sow this week, and how to keep slugs off the lettuce.',
  ],
  [
    'Receipts',
    'receipts@cloudyard.example',
    'Your invoice from Cloudyard',
    'The monthly amount was charged to the card that ends in 4410.',
  ],
  ['Receipts', 'noreply@parcelway.example', 'Your parcel was delivered', 'The parcel was handed to the reception.'],
  [
    'Inbox',
    'samir.haddad@tarnwell.example',
    'Build report',
    'All pipelines ran over night. Details stand in the build system.',
  ],
  [
    'Inbox',
    'oona.salmi@tarnwell.example',
    'Lunch this week',
    'Soup on Monday, curry on Wednesday, leftovers on Friday.',
  ],
] as const;
const routine = Array.from({ length: 72 }, (_, at): (typeof written)[number] => {
  const [folder, from, subject, body] = notices[at % notices.length] ?? notices[0];
  const month = String(1 + (at % 10)).padStart(2, '0');
  const day = String(sampler.between(1, 28)).padStart(2, '0');
  return [folder, `2026-${month}-${day}`, from, `${subject} (${day}/${month})`, body];
});

const messages = [...written, ...routine]
  .toSorted((a, b) => b[1].localeCompare(a[1]))
  .map(
    ([folder, date, from, subject, body], at): Message => ({ id: `m-${1090 - at}`, folder, date, from, subject, body }),
  );

/** Gmail's operators; every other word must occur. */
function fits(message: Message, query: string): boolean {
  const { folder, date, from, subject, body } = message;
  return query.split(/\s+/).every((term) => {
    const [operator = '', value = ''] = term.split(/:(.*)/s);
    if (operator === 'from') return from.includes(value.toLowerCase());
    if (operator === 'subject') return hasAllWords(subject, value);
    if (operator === 'in') return folder.toLowerCase() === value.toLowerCase();
    if (operator === 'after') return date >= value;
    if (operator === 'before') return date < value;
    return hasAllWords(`${from} ${subject} ${body}`, term);
  });
}

const toListed = ({ body, ...message }: Message) => ({ ...message, snippet: `${body.slice(0, 70)}…` });

const server = new McpServer({ name: 'postbox', version: '2.1.0' });
server.registerTool(
  'searchMessages',
  {
    description:
      'Search mail. Understands from:, subject:, in:<folder>, after:YYYY-MM-DD and before:YYYY-MM-DD; every other word must occur.',
    inputSchema: { query: z.string(), maxResults: z.number().int().max(50).default(10) },
    annotations: readOnly,
  },
  ({ query, maxResults }) => {
    const hits = messages.filter((message) => fits(message, query));
    return json({ resultCount: hits.length, messages: hits.slice(0, maxResults).map(toListed) });
  },
);
server.registerTool(
  'listMessages',
  {
    description: 'List the messages of a folder, newest first.',
    inputSchema: { folder: z.string(), cursor: z.string().optional().describe('nextCursor of the page before') },
    annotations: readOnly,
  },
  ({ folder, cursor = '1' }) => {
    const { items, hasMore } = pageOf(
      messages.filter((message) => message.folder === folder),
      Number(cursor),
      8,
    );
    return json({ messages: items.map(toListed), ...(hasMore ? { nextCursor: String(Number(cursor) + 1) } : {}) });
  },
);
server.registerTool(
  'getMessage',
  { description: 'Read a message in full.', inputSchema: { messageId: z.string() }, annotations: readOnly },
  ({ messageId }) => {
    const message = messages.find(({ id }) => id === messageId);
    return message === undefined ? failure(`No message ${messageId}`) : json(message);
  },
);
server.registerTool(
  'listFolders',
  { description: 'List the folders with the number of messages in each.', annotations: readOnly },
  () => {
    const folders = Map.groupBy(messages, ({ folder }) => folder);
    return json([...folders].map(([name, { length }]) => ({ name, messages: length })));
  },
);

const messageId = z.string();
writes(server, 'sendMessage', 'Send a mail.', { to: z.string(), subject: z.string(), body: z.string() }, changing);
writes(server, 'replyToMessage', 'Reply to a message.', { messageId, body: z.string() }, changing);
writes(server, 'moveMessage', 'Move a message to a folder.', { messageId, folder: z.string() }, changing);
writes(server, 'markAsRead', 'Mark a message as read.', { messageId }, changing);
writes(server, 'trashMessage', 'Move a message to the trash.', { messageId }, destructive);

await start(server);
