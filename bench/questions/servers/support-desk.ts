/** Annotated readers whose names hold verbs (email, log, order, open, post), beside annotated writers. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { changing, createSampler, destructive, pageOf, readOnly, start, text, writes } from './stand-in.ts';

const sampler = createSampler(61);

/** Customer, article, paid, tracking number. */
const placed: [string, string, string, string][] = [
  ['Fenwick Farm', 'Wren', 'paid', 'PW 3381 220'],
  ['Fenwick Farm', 'Wren', 'unpaid', 'PW 3381 947'],
  ['Fenwick Farm', 'Heron', 'paid', 'PW 3382 015'],
  ['Fenwick Farm', 'Wren', 'paid', 'PW 3382 404'],
  ['Fenwick Farm', 'Plover', 'unpaid', 'PW 3383 118'],
  ['Fenwick Farm Shop', 'Wren', 'unpaid', 'PW 3383 560'],
  ['Lagan Rowing Club', 'Wren', 'paid', 'PW 4410 071'],
  ['Lagan Rowing Club', 'Wren', 'paid', 'PW 4410 388'],
  ['Lagan Rowing Club', 'Wren', 'paid', 'PW 4411 602'],
  ['Lagan Sailing Club', 'Wren', 'paid', 'PW 4412 119'],
  ['Ullswater School', 'Siskin', 'paid', 'PW 5127 306'],
];
const customers = ['Hof Lindner', 'Quinta da Ribeira', 'Marsh Nursery', 'Skovgaard Camping', 'Tarn Brewery'] as const;
const articles = ['Heron', 'Wren', 'Plover', 'Siskin'] as const;
const orders = [
  ...placed,
  ...Array.from({ length: 60 }, (): (typeof placed)[number] => [
    sampler.pick(customers),
    sampler.pick(articles),
    sampler.between(0, 4) === 0 ? 'unpaid' : 'paid',
    `PW ${sampler.between(6000, 8999)} ${sampler.between(100, 999)}`,
  ]),
].map(([customer, article, payment, tracking], at) => ({
  order: `SO-${20417 + at * 13}`,
  customer,
  article,
  payment,
  tracking,
}));

const emails = [
  [
    'hof.lindner@farm.example',
    'Mice bit through the cable',
    'Can I splice the cable of the rain collector or do I need a new one? Answer given: splice it with the gel connector 60-415.',
  ],
  [
    'office@skovgaard.example',
    'Display is upside down',
    'After the update the display is upside down. Answer given: menu 7, item 3, turn by 180 degrees.',
  ],
  [
    'brew@tarn.example',
    'Station in a hot room',
    'Does it stand 70 degrees above our kettle? Answer given: no, 55 degrees at most, take the remote probe.',
  ],
  [
    'head@ullswater.example',
    'Discount for schools',
    'We ordered at the full price by mistake. Answer given: credit note CN-0962 was sent.',
  ],
  [
    'quinta@ribeira.example',
    'Invoice in Portuguese',
    'Please send the invoice in Portuguese. Answer given: set the language of the account, then download it again.',
  ],
  [
    'marsh@nursery.example',
    'Frost alarm at night only',
    'We want the frost alarm only between ten and six. Answer given: use a schedule, described in article 88.',
  ],
  [
    'marsh@nursery.example',
    'Frost alarm too late',
    'The alarm came at minus two. Answer given: raise the threshold to plus one and a half.',
  ],
  [
    'hof.lindner@farm.example',
    'Second user',
    'How do I let my daughter see the data? Answer given: invite her as a viewer.',
  ],
] as const;

const routineEvents = [
  'INFO  session opened for station',
  'INFO  battery reported by station',
  'WARN  clock skew of 3 s at station',
  'INFO  firmware check by station',
  'WARN  retry of upload by station',
] as const;
const notableEvents: Record<number, string> = {
  31: 'ERROR checksum mismatch in firmware image, expected 9c41e0, station TW-0288',
  67: 'ERROR upload rejected: certificate revoked, serial 5A:77:0E, station TW-0314',
  88: 'WARN  retry of upload by station TW-0377 exceeded 40 attempts, parked until 06:30',
  104: 'ERROR duplicate station id TW-0190, second device at 81.92.4.17',
  133: 'ERROR out of memory in decoder, packet of 71,204 bytes, station TW-0265',
};
const logLines = Array.from({ length: 150 }, (_, at) => {
  const time = new Date(Date.UTC(2026, 9, 12, 2, 0, at * 41)).toISOString();
  const event = notableEvents[at] ?? `${sampler.pick(routineEvents)} TW-0${sampler.between(101, 399)}`;
  return `${time} ${event}`;
});

const server = new McpServer({ name: 'support-desk', version: '2.7.4' });
server.registerTool(
  'order_lookup',
  {
    description: 'Look up orders by order number or by the name of the customer.',
    inputSchema: { reference: z.string().describe('Order number or customer') },
    annotations: readOnly,
  },
  ({ reference }) => {
    const wanted = reference.toLowerCase();
    const found = orders.filter(
      (row) => row.order.toLowerCase() === wanted || row.customer.toLowerCase().includes(wanted),
    );
    const blocks = found.map((row) =>
      Object.entries(row)
        .map(([key, value]) => `${key}: ${value}`)
        .join('\n'),
    );
    return text(blocks.join('\n\n') || 'No order matches.');
  },
);
server.registerTool(
  'email_search',
  {
    description: 'Search the emails that customers sent to support, with the answers given.',
    inputSchema: { keywords: z.string() },
    annotations: readOnly,
  },
  ({ keywords }) => {
    const words = keywords.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? [];
    const found = emails.filter((mail) => words.some((word) => mail.join(' ').toLowerCase().includes(word)));
    return text(
      found.map(([from, subject, body]) => `From: ${from}\nSubject: ${subject}\n${body}`).join('\n---\n') || '0 emails',
    );
  },
);
server.registerTool(
  'log_search',
  {
    description: 'Search the device log for a literal text, 20 lines per page.',
    inputSchema: { contains: z.string(), page: z.number().int().optional() },
    annotations: readOnly,
  },
  ({ contains, page = 1 }) => {
    const found = logLines.filter((line) => line.toLowerCase().includes(contains.toLowerCase()));
    const { items, hasMore } = pageOf(found, page, 20);
    return text(
      [...items, ...(hasMore ? [`-- ${found.length} lines, continue with page=${page + 1}`] : [])].join('\n') ||
        '(no lines)',
    );
  },
);
server.registerTool(
  'open_cases',
  { description: 'Cases that wait for an answer, with their age.', annotations: readOnly },
  () =>
    text(
      '| case | customer | topic | waiting |\n|---|---|---|---|\n| 9114 | Tarn Brewery | steam on the sensor | 9 days |\n| 9120 | Skovgaard Camping | wrong invoice address | 2 days |\n| 9127 | Hof Lindner | station stolen | 5 hours |',
    ),
);
server.registerTool(
  'post_history',
  { description: 'Outages that were posted on the public status page, newest first.', annotations: readOnly },
  () =>
    text(
      '2026-10-28 Portal slow for 50 minutes (database maintenance)\n2026-09-15 Text alarms delayed in Portugal (fault at the operator Lusacom)\n2026-08-02 Map without background (tile provider)\n2026-06-30 Sign-in impossible for 12 minutes (expired certificate)',
    ),
);

const order = z.string();
writes(server, 'order_cancel', 'Cancel an order.', { order }, destructive);
writes(server, 'order_refund', 'Refund an order.', { order, amount: z.number() }, destructive);
writes(server, 'email_reply', 'Answer a customer.', { to: z.string(), body: z.string() }, changing);
writes(server, 'log_purge', 'Delete log lines before a day.', { before: z.string() }, destructive);
writes(server, 'case_close', 'Close a case.', { case: z.number().int() }, changing);
writes(server, 'post_outage', 'Post an outage on the status page.', { title: z.string() }, changing);

await start(server);
