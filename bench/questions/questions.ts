/** Questions as people type them, and the facts that an answer must hold. */

/** A text that must occur, or several of which one must. */
export type Fact = string | readonly string[];
type Row = [id: string, needs: string, question: string, ...expect: Fact[]];

/** By kind: id, servers that hold the answer, question, facts. "{site}" is where the benchmark serves its pages. */
const answerable = {
  search: [
    ['clock', 'issues', 'Why does the Siskin gateway lose its clock after a power cut?', 'batch 2214'],
    ['rain-twice', 'issues', 'what helps when the wren counts rain twice in strong wind', '180 ms'],
    ['alarms-twice', 'issues', 'Why do text message alarms arrive twice?', 'longer than 4 seconds'],
    ['busan', 'mail', 'container number of the shipment from Busan', 'TCLU 482913-7'],
    ['auditor', 'mail', 'Who audits our books this year?', 'Hartwig & Sole'],
    ['van-claim', 'mail', 'What is the claim number for the damaged van?', 'VK-2026-00831'],
    ['membranes', 'mail', 'quotation for ceramic membranes, what do they cost', '4,960'],
    ['train', 'mail', 'Which coach am I in on the train to Hamburg?', 'Coach 31'],
    ['bucket-tips', 'documents', 'How many tips must a rain bucket count in the calibration?', '246 to 254'],
    ['school-discount', 'documents', 'discount for schools and universities on stations', '35 per cent'],
    [
      'radio-approval',
      'documents',
      'Under which number is the radio of the Siskin approved in the European Union?',
      'RED-0682-4471',
    ],
    [
      'mice',
      'support-desk',
      "A customer's cable was bitten by mice, what did support recommend?",
      'gel connector 60-415',
    ],
    ['kettle', 'support-desk', 'how hot may it get for a station above a kettle', '55 degrees at most'],
  ],
  'list and read': [
    ['parking', 'filesystem', 'Which parking spaces in Leeds are reserved for electric cars?', '14 to 16'],
    ['hotel', 'filesystem', 'What may a hotel night in London cost when I travel for work?', 'Oslo 190'],
    ['bolts', 'filesystem', 'how tight do the bolts of a mast have to be when installing a station', '45 Nm'],
    ['wave-tank', 'filesystem', 'How many litres does the wave tank in the workshop hold?', '6,200'],
    [
      'enclosure',
      'filesystem',
      'Who will make the new enclosure and how much is the tooling, according to the minutes?',
      'Plastform',
      '86,000',
    ],
    [
      'flood',
      'filesystem',
      'How fast did the water rise at Mill Bridge in the flood of February 2026?',
      '2.9 m',
      'fourteen hours',
    ],
    ['piano', 'obsidian', 'who tunes my piano', 'Esben Lykke'],
    ['ox-road', 'obsidian', 'How far was the second day when cycling the Ox Road?', '70 km'],
    ['price', 'chat', 'What is the recommended price of the Siskin 2?', '389 euros'],
    ['roof-key', 'chat', 'Who keeps the key to the roof in Porto?', 'Abílio'],
    ['reset-plover', 'chat', 'how do I reset an old Plover?', '11 seconds'],
    ['endpoint-v2', 'git', 'Which site had the last gateway that used the v2 endpoint?', 'Stone Quay'],
  ],
  keyword: [
    ['drift', 'ripgrep', 'value of maxDriftMs in the uplink code', '1500'],
    ['counter', 'ripgrep', 'In which file is siskin_lost_packets_total defined?', 'metrics.ts'],
    ['port', 'ripgrep', 'what is listen_port set to', '7443'],
    ['rye', 'obsidian', 'How much water goes into my sourdough rye?', '480 g'],
    ['packing-list', 'obsidian', 'show me my packing list', 'tin of mints'],
    ['sonaris', 'memory', 'Where is the factory of Sonaris?', 'Tartu'],
    ['hazelnuts', 'memory', 'who is allergic to hazelnuts', 'Idris Vaughan'],
    ['revoked', 'support-desk', 'certificate revoked for station TW-0314, which serial?', '5A:77:0E'],
    ['checksum', 'support-desk', 'checksum mismatch at TW-0288, what was expected', '9c41e0'],
    ['sousa', 'crm', 'Which company does Maria de Sousa work for?', 'Alentejo Energy Services'],
    ['order', 'support-desk', 'Where is order SO-20547? I need the tracking number.', 'PW 5127 306'],
  ],
  plain: [
    ['failing-build', 'ci', 'Which pipeline is failing and why?', 'readings.v4'],
    ['on-call', 'ci', 'who is on call right now', 'pager 0171', 'Lotte Brandsma'],
    ['freeze', 'ci', 'Are deployments frozen, and until when?', '2026-11-23'],
    ['coverage', 'ci', 'What is the test coverage of the mobile app?', '59.2'],
    ['flaky', 'ci', 'which tests are flaky at the moment', 'zoom level 9'],
    ['production', 'ci', 'Which version of ingest runs in production?', '4.1.6'],
    ['forecast', 'crm', 'sales pipeline forecast for the current quarter', ['1184300', '1,184,300', '1_184_300']],
    ['cases', 'support-desk', 'Which support cases are waiting for an answer?', '9114', 'station stolen'],
    ['outages', 'support-desk', 'What outages did we post on the public status page?', 'Lusacom', 'tile provider'],
    ['chat-plan', 'chat', 'When does the plan of our chat workspace renew?', '17 February 2027'],
    ['calendars', 'calendar', 'which calendars does this account have', 'plum'],
    ['wiki-changes', 'wiki', 'Which wiki pages were changed last?', 'field/desiccant'],
  ],
  page: [
    ['vat-tyrholm', 'crm', 'What is the VAT number of Tyrholm Harbour Authority?', 'EU409254942'],
    ['vat-pellworm', 'crm', 'vat number pellworm water board', 'EU359578843'],
    ['vat-lagan', 'crm', 'I need the VAT number of the account Lagan Marina', 'EU242192106'],
    ['plover-release', 'issues', 'What changed in firmware release Plover 2.4.1?', '75 seconds'],
    ['titanium', 'issues', 'Which firmware release brought support for the titanium housing?', 'Heron 1.5.0'],
    ['tls', 'issues', 'which Siskin release dropped TLS 1.1', '0.7.1'],
    ['gusts', 'issues', 'since which release does the Wren average wind gusts over 3 seconds', 'Wren 3.3.0'],
    ['photographer', 'chat', 'When does the photographer come?', 'the 18th'],
    ['van', 'chat', 'until when is van 1 at the garage', 'garage until Wednesday'],
  ],
  'two sources that disagree': [
    ['parents', 'filesystem wiki', 'How many weeks of parental leave does a parent get?', '16 weeks', '18 weeks'],
    ['warranty', 'filesystem documents', 'How long is the warranty of the Heron?', '24 months', '36 months'],
    ['battery', 'documents memory', 'how long does the battery of a Plover last', '7 years', '5 years'],
    ['wifi', 'wiki chat', 'What is the guest wifi password in Leeds?', 'otter-lagoon-52', 'otter-lagoon-71'],
    ['launch', 'chat mail', 'When is the launch of Siskin 2?', '14 September', '5 October'],
    [
      'terms',
      'crm mail',
      'Within how many days does Ostrava Waterworks have to pay?',
      'within 30 days',
      ['paymentTermsDays":45', 'paymentTermsDays": 45', 'paymentTermsDays: 45', 'paymentTermsDays 45'],
    ],
    ['logs', 'filesystem wiki', 'For how long are application logs kept?', '90 days', '30 days in the hot store'],
  ],
  'distinct rows': [
    ['berger', 'crm', 'What is the phone number of Anna Berger at Nordlicht Energie AG?', '+49 421 555 0173'],
    ['falk', 'crm', 'phone numbers of Jonas Falk', '+45 66 55 01 02', '+45 66 55 01 79'],
    ['sousa-district', 'crm', 'How do I reach Maria Sousa of Alentejo District by phone?', '+351 284 555 036'],
    ['unpaid', 'support-desk', 'Which orders of Fenwick Farm are unpaid?', 'SO-20430', 'SO-20469'],
    [
      'rowing',
      'support-desk',
      'tracking numbers for all orders of Lagan Rowing Club',
      'PW 4410 071',
      'PW 4410 388',
      'PW 4411 602',
    ],
    ['runners', 'ci', 'Which arm64 build runners are offline?', 'runner-arm64-03', 'runner-arm64-07'],
    [
      'renewals',
      'crm',
      'deals in negotiation with Solvik Kommune and their amounts',
      ['18450', '18,450'],
      ['21730', '21,730'],
    ],
    ['heron-12cm', 'issues', 'What causes the Heron to read 12 cm wrong?', 'freezes in the vent tube', 'silt settles'],
    ['kilnsea', 'filesystem', 'What was the battery voltage at the Kilnsea inspection of October 2026?', '12.05'],
  ],
  resource: [
    ['sabbatical', 'wiki', 'How long may a sabbatical last?', 'five months'],
    ['referral', 'wiki', 'how much is the referral bonus', '2,400'],
    ['learning', 'wiki', 'What is my learning budget for courses and conferences?', '1,150'],
    ['jubilee', 'wiki', 'What do people receive for a jubilee of twenty years?', 'Ole Mathiesen'],
    ['billing', 'wiki', 'Runbook: what do I do when invoices are missing from billing?', 'billing-run', '25 minutes'],
    ['sms', 'wiki', 'alarms are not sent, how do we fail over to the second provider', 'sms_backup'],
    ['vpn', 'wiki', 'Which UDP port does the VPN use?', '51833'],
    ['desiccant', 'wiki', 'How often is the desiccant of a Heron replaced?', '14 months'],
    ['extension', 'wiki', 'telephone extension of Yuki Arai', '227'],
  ],
  date: [
    ['march-3', 'calendar', 'What is on the calendar on 3 March 2026?', 'Calibration review', 'Liselotte Aaberg'],
    ['end-of-may', 'calendar', 'my events in the last week of May 2026', 'Henning Juhl', 'room Douro'],
    ['june-21', 'calendar', 'What do I have on 2026-06-21?', 'SK 2593'],
    ['lunch-talk', 'calendar', 'Who gives the lunch talk on 22 September 2026?', 'Ulla Brask'],
    ['october-13', 'calendar', 'events on October 13, 2026', 'class 7b'],
    ['rolled-back', 'ci', 'Which deployments were rolled back between 25 and 31 August 2026?', '3.14.0', '2.14.1'],
    ['july-14', 'ci', 'what did we deploy to production on 14 July 2026', '2.11.2'],
    ['nadia', 'mail', 'What did Nadia Rahal write between 9 and 13 March 2026?', 'seven years'],
    ['september-commits', 'git', 'commits in September 2025', 'harbour pilots', 'Back off'],
    ['yuki-january', 'git', 'What did Yuki Arai commit in January 2026?', 'Keep readings for 45 days'],
  ],
  SQL: [
    ['shelf', 'sqlite', 'On which shelf is the lightning arrester stored?', 'A3-50'],
    ['serial', 'sqlite', 'serial number of the station at Mill Bridge', 'HN981535'],
    ['contract', 'sqlite', 'What is the contract number of Polder Zuidwolde?', 'FC-2829-57'],
    ['hired', 'sqlite', 'When was technician Gwyn Parry hired?', '2021-05-22'],
    ['owner', 'sqlite', 'Which customer does station TW-0154 belong to?', 'Glen Orrin Estate'],
    ['work-order', 'sqlite', 'Who was the technician of work order 4002?', 'Fenella Marr'],
    ['cost', 'sqlite', 'total cost of all work orders done by Bettina Roth', ['14073.3', '14,073.3']],
    ['max-level', 'sqlite', 'What is the highest level of any alarm at Weir Lane?', '6.88'],
    ['count', 'sqlite', 'How many alarms are in the database?', '330'],
  ],
  'time and web page': [
    ['kathmandu', 'time', 'What time is it in Kathmandu right now?', '+05:45'],
    ['tehran', 'time', 'current time Asia/Tehran', '+03:30'],
    ['tokyo', 'time', 'If it is 14:30 in Tokyo, what time is it in Kolkata?', 'T11:00'],
    ['dubai', 'time', 'convert 09:15 from Asia/Dubai to Asia/Singapore', 'T13:15'],
    ['ferry', 'fetch', 'What does a bicycle cost on the ferry according to {site}/ferry?', '31 kroner'],
    ['museum', 'fetch', 'Who built the tide machine? See {site}/museum', 'Augustin Kerleo'],
    ['notes', 'fetch', 'read {site}/release-notes and tell me who is thanked', 'Beate Olafsen'],
    ['welder', 'fetch', 'reference of the welder position on {site}/jobs', 'TW-W-07'],
  ],
} satisfies Record<string, Row[]>;

/** Some are far from every topic, others near misses: the topic is there, the fact is not. */
const unanswerable: [id: string, question: string][] = [
  ['tungsten', 'What is the boiling point of tungsten?'],
  ['chess', 'Who won the chess world championship in 1972?'],
  ['origami', 'how do I fold an origami crane'],
  ['ouagadougou', 'capital of Burkina Faso'],
  ['opera', 'Which opera did Verdi write for Cairo?'],
  ['berger-solvik', 'What is the phone number of Anna Berger at Solvik Kommune?'],
  ['move-cost', 'How much does the move of the Porto office cost?'],
  ['plover-warranty', 'How long is the warranty of the Plover?'],
  ['affric-code', 'gate code at Glen Affric'],
  ['november-minutes', 'What did the management decide in its meeting of November 2026?'],
  ['lisbon', 'Which hotel is booked in Lisbon?'],
  ['order-99999', 'tracking number of order SO-99999'],
];

export type Question =
  | { id: string; kind: keyof typeof answerable; needs: string[]; question: string; expect: Fact[] }
  | { id: string; kind: 'nobody knows'; question: string };

export const questions: Question[] = [
  ...Object.entries(answerable).flatMap(([kind, rows]) =>
    rows.map(([id, needs, question, ...expect]) => ({
      id,
      kind: kind as keyof typeof answerable,
      needs: needs.split(' '),
      question,
      expect,
    })),
  ),
  ...unanswerable.map(([id, question]) => ({ id, kind: 'nobody knows' as const, question })),
];

/** In the first results taken together: case does not matter, white space is collapsed. */
export function holdsFacts(results: readonly { title?: string; content: string }[], expect: readonly Fact[]): boolean {
  const text = simplify(results.map(({ title = '', content }) => `${title}\n${content}`).join('\n'));
  return expect.every((fact) => [fact].flat().some((wording) => text.includes(simplify(wording))));
}

const simplify = (text: string) => text.toLowerCase().replace(/\s+/g, ' ');
