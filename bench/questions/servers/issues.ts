/** An issue tracker with page numbers: no annotations, Markdown tables, numbered hits, key: value blocks. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { createSampler, failure, hasAllWords, pageOf, start, text, writes } from './stand-in.ts';

interface Issue {
  number: number;
  title: string;
  state: 'open' | 'closed';
  assignee: string;
  milestone: string;
  body: string;
}

const people = ['yuki', 'felix', 'ravi', 'samir', 'tomas', 'chiara'] as const;
const months = ['March', 'May', 'July', 'October'] as const;
const milestones = ['Avocet', 'Bittern', 'Curlew', 'Dunlin'] as const;

/** Number, title, assignee, body. */
const reported: [number, string, string, string][] = [
  [
    17,
    'Siskin gateway loses its clock after a power cut',
    'tomas',
    'After mains returns the gateway stamps readings with 1 January 2020 until it reaches a time server.\n\nCause: on boards from batch 2214 the cell that backs up the clock is soldered the wrong way round. Boards from other batches keep the time.',
  ],
  [
    18,
    'Siskin gateway shows the wrong local time after daylight saving',
    'yuki',
    'Readings are stored in UTC and are right, only the display is an hour off. The zone table of the image dates from 2021.',
  ],
  [
    43,
    'Wren rain counter counts twice in strong wind',
    'felix',
    'The bucket swings back in gusts above 22 m/s and closes the contact a second time. Raising the debounce to 180 ms removed the double counts in the wind tunnel.',
  ],
  [
    44,
    'Wren rain counter misses tips in heavy rain',
    'felix',
    'Above 90 mm/h every fifth tip is lost. A Hall sensor in place of the reed switch counted all of them.',
  ],
  [
    58,
    'CSV export drops the last row when a station changes its time zone',
    'ravi',
    'The export ends at local midnight of the old zone. Reported by three customers. Fixed on the branch for portal 5.8.2.',
  ],
  [
    59,
    'CSV export uses a comma as decimal separator for German users',
    'ravi',
    'Spreadsheets read 3,41 as two columns. We now follow the locale of the account and write a semicolon between columns.',
  ],
  [
    71,
    'Heron reads 12 cm too high in frost',
    'tomas',
    'Seen at four sites in January. Cause: condensation freezes in the vent tube, so the gauge no longer follows the air pressure.',
  ],
  [
    72,
    'Heron reads 12 cm too low after a flood',
    'tomas',
    'Seen at two sites after the high water of February. Cause: silt settles on the membrane. Rinsing with clear water restores the reading.',
  ],
  [
    90,
    'Portal sign-in loops on iPhones',
    'chiara',
    'The session cookie is rejected after the redirect from the identity provider. Setting SameSite=None on it ends the loop.',
  ],
  [
    96,
    'Map places imported stations in the sea',
    'ravi',
    'Latitude and longitude are swapped in files that come from the Klaipeda office. The import now asks when a point lies outside the country of the customer.',
  ],
  [
    103,
    'Plover empties its battery in two weeks close to pylons',
    'yuki',
    'The modem loses the cell and retries every 9 seconds for ever. Doubling the pause after each failure brings consumption back to normal.',
  ],
  [
    112,
    'Text message alarms arrive twice',
    'samir',
    'The provider Brevia repeats a message when our receipt takes longer than 4 seconds. We now send the receipt before we store it.',
  ],
];

const parts = ['Heron', 'Wren', 'Plover', 'Siskin', 'Portal', 'Mobile app', 'Alarm service', 'Importer'] as const;
const symptoms = [
  ['stops responding after an update', 'A restart helps until the next update. The watchdog does not fire.'],
  ['shows no data for new stations', 'Data is stored, yet the list of stations is cached for a day.'],
  ['reports a wrong firmware version', 'The version string is read before the update has finished.'],
  ['sends alarms without a threshold', 'An empty threshold is taken for zero.'],
  ['is slow with more than a thousand stations', 'Every station costs one query. A single query for all would do.'],
  ['rejects names with accents', 'The validation allows ASCII only.'],
  ['forgets the calibration offset', 'The offset is written to the wrong page of the flash.'],
  ['fails to connect through a proxy', 'The proxy setting is read by the updater but not by the uploader.'],
  ['prints translated labels in English', 'The fallback language wins over the language of the account.'],
  ['draws gaps as zero', 'Missing readings should leave a gap in the curve.'],
  ['logs the same warning every minute', 'The warning should be logged once until the state changes.'],
  ['loses the filter when going back', 'The filter is kept in memory and not in the address.'],
  ['accepts calibration values out of range', 'Calibration is stored without a check. Limits stand in the data sheet.'],
] as const;

const sampler = createSampler(11);
const issues = Array.from({ length: 116 }, (_, at): Issue => {
  const number = at + 1;
  const known = reported.find(([wanted]) => wanted === number);
  const state = sampler.between(0, 2) === 0 ? 'closed' : 'open';
  const milestone = sampler.pick(milestones);
  if (known !== undefined) return { number, title: known[1], state, assignee: known[2], milestone, body: known[3] };
  const [symptom, reason] = symptoms[at % symptoms.length] ?? symptoms[0];
  const seen = `Seen on ${sampler.between(2, 40)} devices, first on ${sampler.between(1, 28)} ${sampler.pick(months)} 2025.`;
  const title = `${parts[at % parts.length]} ${symptom}`;
  return { number, title, state, assignee: sampler.pick(people), milestone, body: `${reason} ${seen}` };
});

const changes = [
  'Uploads resume after a lost connection.',
  'The battery estimate takes the temperature into account.',
  'Texts of the display were corrected in Danish and Portuguese.',
  'Memory use at start fell by a tenth.',
  'The self test covers the radio.',
  'Certificates are renewed a month before they expire.',
] as const;
/** The one change of a release that no other release has. */
const notable: Record<string, string> = {
  'Plover 2.4.1': 'The join timeout of the modem rises from 30 to 75 seconds.',
  'Plover 2.4.0': 'The join timeout of the modem can be set over the air.',
  'Heron 1.5.0': 'Support for the titanium housing (part 60-118).',
  'Siskin 0.7.1': 'Drops TLS 1.1; gateways older than 0.5 must be updated by cable.',
  'Wren 3.3.0': 'Wind gusts are averaged over 3 seconds as the WMO recommends.',
};
const releases = [8, 7, 6, 5, 4, 3].flatMap((minor) =>
  [1, 0].flatMap((patch) =>
    ['Heron 1', 'Wren 3', 'Plover 2', 'Siskin 0'].map((product) => {
      const name = `${product}.${minor}.${patch}`;
      const lines = new Set([sampler.pick(changes), sampler.pick(changes)]);
      return { name, lines: [...(notable[name] === undefined ? [] : [notable[name]]), ...lines] };
    }),
  ),
);

const server = new McpServer({ name: 'trackline-mcp', version: '0.9.3' });
const page = z.number().int().min(1).optional().describe('Page number, starting at 1');

server.registerTool(
  'list_issues',
  {
    description: 'List the issues of the project, newest first, 15 per page.',
    inputSchema: { state: z.enum(['open', 'closed', 'all']).optional(), page },
  },
  ({ state = 'open', page: wanted = 1 }) => {
    const fitting = issues.filter((issue) => state === 'all' || issue.state === state).toReversed();
    const { items, pages } = pageOf(fitting, wanted, 15);
    const rows = items.map(
      (issue) => `| ${issue.number} | ${issue.title} | ${issue.state} | ${issue.assignee} | ${issue.milestone} |`,
    );
    return text(
      [
        '| # | Title | State | Assignee | Milestone |',
        '|---|---|---|---|---|',
        ...rows,
        '',
        `Page ${wanted} of ${pages}`,
      ].join('\n'),
    );
  },
);

server.registerTool(
  'get_issue',
  { description: 'Get one issue with its description.', inputSchema: { issue_number: z.number().int() } },
  ({ issue_number }) => {
    const issue = issues.find(({ number }) => number === issue_number);
    if (issue === undefined) return failure(`Issue ${issue_number} not found.`);
    const { title, state, assignee, milestone, body } = issue;
    return text(
      `Number: ${issue_number}\nTitle: ${title}\nState: ${state}\nAssignee: ${assignee}\nMilestone: ${milestone}\n\n${body}`,
    );
  },
);

server.registerTool(
  'search_issues',
  {
    description: 'Search titles and descriptions. All words of q must occur. 10 hits per page.',
    inputSchema: { q: z.string().describe('Search words'), page },
  },
  ({ q, page: wanted = 1 }) => {
    const hits = issues.filter((issue) => hasAllWords(`#${issue.number} ${issue.title} ${issue.body}`, q));
    if (hits.length === 0) return text('No issues found.');
    const { items, pages, hasMore } = pageOf(hits, wanted, 10);
    const lines = items.map(
      ({ number, title, state, body }, at) =>
        `${(wanted - 1) * 10 + at + 1}. #${number} ${title} (${state})\n   ${body}`,
    );
    return text(
      `${hits.length} issues found, page ${wanted} of ${pages}\n\n${lines.join('\n')}${hasMore ? `\n\nMore: page=${wanted + 1}` : ''}`,
    );
  },
);

server.registerTool(
  'list_releases',
  { description: 'List the releases of firmware with their notes, newest first, 6 per page.', inputSchema: { page } },
  ({ page: wanted = 1 }) => {
    const { items, pages, hasMore } = pageOf(releases, wanted, 6);
    const sections = items.map(({ name, lines }) => `## ${name}\n- ${lines.join('\n- ')}`);
    return text(`${sections.join('\n\n')}\n\n${hasMore ? `Next: page=${wanted + 1} of ${pages}` : 'Last page.'}`);
  },
);

const issue_number = z.number().int();
writes(server, 'create_issue', 'Create a new issue.', { title: z.string(), body: z.string().optional() });
writes(server, 'update_issue', 'Change the title, the body or the milestone of an issue.', {
  ...{ issue_number, title: z.string().optional(), body: z.string().optional() },
});
writes(server, 'add_comment', 'Comment on an issue.', { issue_number, body: z.string() });
writes(server, 'close_issue', 'Close an issue.', { issue_number });
writes(server, 'publish_release', 'Publish a release.', { name: z.string(), notes: z.string() });

await start(server);
