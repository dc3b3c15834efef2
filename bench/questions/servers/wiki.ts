/** A wiki of MCP resources: the handbook is listed, other pages are reached through templates and completion. */
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { start, text, writes } from './stand-in.ts';

const spaces: Record<string, Record<string, string>> = {
  handbook: {
    Welcome:
      'Tarnwell makes stations for water and weather. We work in Aarhus, Leeds and Porto. Your first week is planned by your mentor.',
    'Working hours': 'Be reachable between 10 and 15 o’clock, Danish time. Everything else is up to you and your team.',
    'Parental leave':
      'Every parent takes up to 18 weeks on full pay, in one piece or in two, until the child is two years old.',
    'Sick days': 'Tell your team before 10. A certificate is needed from the fourth day on.',
    Holidays: 'Thirty days a year. Up to eight of them move to the next year and expire on 31 March.',
    Sabbatical:
      'After six years with us you may take an unpaid break of up to five months. Apply half a year ahead, to Oona Salmi.',
    'Company bicycle':
      'We pay 40 euros a month towards a leased bicycle. The contract runs for three years with Velofin.',
    'Learning budget':
      'Everyone has 1,150 euros and four days a year for courses, books and conferences. It does not carry over.',
    Expenses:
      'Hand in receipts by the fifth of the following month. Meals abroad are paid at the daily rate of the country.',
    'Referral bonus':
      'Whoever brings a new colleague receives 2,400 euros after the probation period of that colleague.',
    'Probation period': 'Probation lasts six months. Your lead talks with you after six weeks and after four months.',
    'Dogs in the office': 'Dogs are welcome in Leeds and Porto. In Aarhus the clean room rules them out.',
    Jubilees:
      'After five years a weekend trip, after ten years an extra week off, after twenty a watch by Ole Mathiesen.',
    Pension:
      'We match contributions up to 7.5 per cent of the salary. The provider is Velliv in Denmark and Aviva in England.',
    'Laptop replacement': 'Laptops are replaced after 42 months. The old one can be bought for 150 euros.',
    'Emergency contacts':
      'Doctor on call in Aarhus: 70 11 31 31. Site manager in Leeds: extension 640. Porto: ask the porter.',
  },
  it: {
    vpn: 'Connect to vpn.tarnwell.example with your key card. The gateway accepts WireGuard on UDP port 51833. The old OpenVPN profile ends in December.',
    printers:
      'Leeds: PRN-L2 by the kitchen prints in colour. Aarhus: badge release on every floor. The PIN for guests is 8052.',
    'guest-wifi':
      'Network Tarnwell-Guest. In Leeds the password is otter-lagoon-52, in Aarhus it is on the board at the reception.',
    backups:
      'Laptops are saved every four hours. To restore a file, write to it@tarnwell.example with its path and date.',
    'password-rules':
      'At least 16 characters, no expiry. Use the vault of Keysafe; a second factor is required everywhere.',
    'meeting-rooms':
      'Avocet seats 14 and has two screens. Bittern seats 6. Curlew is a phone booth. Book them in the calendar.',
    'software-licences':
      'The design tools have 12 floating seats. The compiler for the modem is tied to the build host.',
    'phone-system': 'Dial 9 for an outside line. Voicemail is reached at 777.',
  },
  field: {
    'mast-heights': 'Wind is measured at 10 m, temperature at 2 m. On roofs add half the height of the building.',
    'cable-lengths': 'Analogue sensors: up to 30 m. Digital bus: up to 120 m with a terminator of 120 ohm.',
    'river-crossings': 'Never cross alone. Above knee depth use the cableway; the permit is with Owen Pritchard.',
    desiccant: 'Replace the drying cartridge of a Heron every 14 months, or as soon as it turns from orange to green.',
    'bird-spikes': 'Fit spikes on every rain collector near the coast. Order part 60-342.',
    'solar-panels': 'South of 55 degrees a panel of 10 W is enough, north of it take 20 W and tilt it by 70 degrees.',
    'vehicle-kit': 'Rope, waders, two radios on channel 7, first-aid box, spare fuses of 5 A.',
    'boat-safety': 'Life jackets are tested every spring by Seawright in Hull.',
  },
};

const runbooks: Record<string, string> = {
  ingest:
    'Symptoms: readings arrive late.\n1. Check the lag of the topic readings-raw.\n2. Above 200,000 messages add two consumers.\n3. If the lag still grows, switch off the enrichment with the flag skip_geo.',
  billing:
    'Symptoms: invoices are missing.\n1. Look for the lock billing-run in the database.\n2. Remove it only if the owner has not reported for 25 minutes.\n3. Start the run again with the same period.',
  alarms:
    'Symptoms: alarms are not sent.\n1. Check the balance at Brevia.\n2. Fail over to the second provider, Telmondo, with the switch sms_backup.',
  portal: 'Symptoms: the portal answers 502.\n1. Restart the pods one at a time.\n2. If memory grows again, roll back.',
  search:
    'Symptoms: stations are not found by name.\n1. Rebuild the index; it takes about 35 minutes.\n2. Until then point the portal to the replica.',
  auth: 'Symptoms: nobody can sign in.\n1. Check the clock of both hosts.\n2. Rotate the signing key; sessions of the last 12 hours end.',
  logs: 'Logs are kept for 30 days in the hot store and then deleted. Ask Idris Vaughan for an exception.',
};

const people: Record<string, string> = Object.fromEntries(
  [
    ['mholt', 'Maren Holt', 'Chief technology officer', 'Aarhus', '204'],
    ['ivaughan', 'Idris Vaughan', 'Site reliability', 'Leeds', '611'],
    ['plindqvist', 'Paula Lindqvist', 'Head of support', 'Aarhus', '219'],
    ['tfigueira', 'Tomás Figueira', 'Hardware', 'Porto', '332'],
    ['yarai', 'Yuki Arai', 'Firmware', 'Aarhus', '227'],
    ['osalmi', 'Oona Salmi', 'People and culture', 'Aarhus', '202'],
    ['dadeyemi', 'Dele Adeyemi', 'Sales', 'Leeds', '625'],
    ['gnyholm', 'Greta Nyholm', 'Finance', 'Aarhus', '206'],
    ['rmenon', 'Ravi Menon', 'Data', 'Leeds', '633'],
    ['bdewit', 'Bram de Wit', 'Logistics', 'Aarhus', '241'],
    ['kboone', 'Keziah Boone', 'Marketing', 'Leeds', '628'],
    ['fauer', 'Felix Auer', 'Quality', 'Porto', '318'],
    ['nrahal', 'Nadia Rahal', 'Legal', 'Leeds', '602'],
    ['shaddad', 'Samir Haddad', 'Build and release', 'Leeds', '617'],
    ['imoe', 'Ingrid Moe', 'Facilities', 'Aarhus', '250'],
    ['lkranz', 'Leopold Kranz', 'Purchasing', 'Aarhus', '244'],
    ['cbellini', 'Chiara Bellini', 'Design', 'Porto', '305'],
    ['opritchard', 'Owen Pritchard', 'Field service', 'Leeds', '640'],
  ].map(([login = '', name, role, office, extension]) => [
    login,
    `name: ${name}\nrole: ${role}\noffice: ${office}\nextension: ${extension}`,
  ]),
);

const slug = (title: string) => title.toLowerCase().replaceAll(' ', '-');
const startingWith = (list: string[]) => (value: string) => list.filter((entry) => entry.startsWith(value));
const markdown = (uri: URL, content: string | undefined) => {
  if (content === undefined) throw new Error(`Page ${uri.href} not found`);
  return { contents: [{ uri: uri.href, mimeType: 'text/markdown', text: content }] };
};

const server = new McpServer({ name: 'Tarnwell Wiki', version: '4.0.1' });

for (const [title, content] of Object.entries(spaces.handbook ?? {})) {
  const metadata = { title, description: `Handbook: ${title}`, mimeType: 'text/markdown' };
  server.registerResource(slug(title), `wiki://handbook/${slug(title)}`, metadata, (uri) =>
    markdown(uri, `# ${title}\n\n${content}`),
  );
}
server.registerResource(
  'page',
  new ResourceTemplate('wiki://{space}/{page}', {
    list: undefined,
    complete: {
      space: startingWith(Object.keys(spaces)),
      page: (value, context) =>
        startingWith(Object.keys(spaces[context?.arguments?.space ?? ''] ?? {}).map(slug))(value),
    },
  }),
  { title: 'Wiki page', description: 'A page of a space: handbook, it or field' },
  (uri, { space, page }) => markdown(uri, spaces[String(space)]?.[String(page)]),
);
server.registerResource(
  'runbook',
  new ResourceTemplate('runbook://{service}', {
    list: undefined,
    complete: { service: startingWith(Object.keys(runbooks)) },
  }),
  { title: 'Runbook', description: 'What to do when a service is in trouble' },
  (uri, { service }) => markdown(uri, runbooks[String(service)]),
);
server.registerResource(
  'person',
  new ResourceTemplate('people://{login}', { list: undefined, complete: { login: startingWith(Object.keys(people)) } }),
  { title: 'Colleague', description: 'Role, office and telephone extension of a colleague' },
  (uri, { login }) => markdown(uri, people[String(login)]),
);

server.registerTool('recent_changes', { description: 'Pages of the wiki that were changed last.' }, () =>
  text(
    [
      '2026-11-02  it/vpn  edited by ivaughan',
      '2026-10-29  handbook/learning-budget  edited by osalmi',
      '2026-10-15  field/desiccant  edited by opritchard',
      '2026-10-12  handbook/dogs-in-the-office  created by imoe',
      '2026-09-30  it/printers  edited by imoe',
    ].join('\n'),
  ),
);
writes(server, 'create_page', 'Create a page in a space.', { space: z.string(), title: z.string(), body: z.string() });
writes(server, 'edit_page', 'Replace the text of a page.', { uri: z.string(), body: z.string() });
writes(server, 'archive_page', 'Move a page to the archive.', { uri: z.string() });

await start(server);
