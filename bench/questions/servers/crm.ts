/** A CRM full of rows that look alike: kebab-case tools, annotations, structuredContent, limit and offset. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import { changing, createSampler, destructive, failure, readOnly, start, structured, writes } from './stand-in.ts';

const sampler = createSampler(37);
const digits = () => sampler.between(100, 999);

const names = [
  'Nordlicht',
  'Pellworm',
  'Solvik',
  'Ostrava',
  'Tyrholm',
  'Lagan',
  'Fenwick',
  'Alentejo',
  'Brennach',
] as const;
const places = ['Husum', 'Bremen', 'Bergen', 'Ostrava', 'Odense', 'Belfast', 'York', 'Beja', 'Bregenz'] as const;
const forms = [
  ['Energie GmbH', 'Energie AG', 'Energy Services'],
  ['Waterworks', 'Water Board', 'Water Supply'],
  ['Kommune', 'Council', 'District'],
  ['Harbour Authority', 'Harbour Services', 'Marina'],
].flat();
const managers = ['Dele Adeyemi', 'Sunniva Brekke', 'Marcus Oyelaran', 'Helle Frandsen'] as const;

const accounts = names.flatMap((name, at) =>
  forms.map((form, offset) => ({
    accountId: `A-${1001 + offset * names.length + at}`,
    name: `${name} ${form}`,
    city: places[at] ?? '',
    accountManager: sampler.pick(managers),
    customerSince: sampler.between(2009, 2025),
    paymentTermsDays: name === 'Ostrava' && form === 'Waterworks' ? 45 : sampler.pick([14, 21, 60]),
    vatNumber: `EU${digits()}${digits()}${digits()}`,
  })),
);
accounts.sort((a, b) => a.accountId.localeCompare(b.accountId));

/** Name, company, role, telephone. */
const people: [string, string, string, string][] = [
  ['Anna Berger', 'Nordlicht Energie GmbH', 'Purchasing', '+49 4841 555 0121'],
  ['Anna Berger', 'Nordlicht Energie AG', 'Purchasing', '+49 421 555 0173'],
  ['Anna Berger', 'Brennach Water Board', 'Hydrology', '+43 5574 555 018'],
  ['Anna Bergqvist', 'Solvik Kommune', 'Hydrology', '+47 55 55 01 44'],
  ['Jonas Falk', 'Tyrholm Harbour Authority', 'Harbour master', '+45 66 55 01 02'],
  ['Jonas Falk', 'Tyrholm Marina', 'Harbour master', '+45 66 55 01 79'],
  ['Jonas Falkner', 'Brennach District', 'Administration', '+43 5574 555 027'],
  ['Maria Sousa', 'Alentejo Water Supply', 'Operations', '+351 284 555 011'],
  ['Maria Sousa', 'Alentejo District', 'Operations', '+351 284 555 036'],
  ['Maria de Sousa', 'Alentejo Energy Services', 'Finance', '+351 284 555 090'],
];
const given = ['Ewa', 'Liam', 'Ingrid', 'Petr', 'Sofia', 'Karl', 'Niamh', 'Rui', 'Hana', 'Lars'] as const;
const family = ['Novak', 'Doyle', 'Hansen', 'Pinto', 'Weber', 'Lund', 'Moser'] as const;
const contacts = [
  ...people,
  ...Array.from({ length: 70 }, (_, at): (typeof people)[number] => [
    `${given[at % given.length]} ${family[at % family.length]}`,
    accounts[(at * 7) % accounts.length]?.name ?? '',
    sampler.pick(['Purchasing', 'Operations', 'Finance', 'Hydrology']),
    `+${sampler.between(31, 49)} ${digits()} 555 ${digits()}`,
  ]),
].map(([name, company, role, phone], at) => ({ contactId: `C-${500 + at}`, name, company, role, phone }));

const stages = ['lead', 'offer', 'negotiation', 'won', 'lost'] as const;
/** Title, stage, amount in euros. */
const negotiated: [string, (typeof stages)[number], number][] = [
  ['Solvik Kommune: renewal 2026, north', 'negotiation', 18_450],
  ['Solvik Kommune: renewal 2026, south', 'negotiation', 21_730],
  ['Solvik Kommune: renewal 2026, islands', 'won', 9_120],
  ['Solvik Council: renewal 2026', 'negotiation', 12_005],
  ['Lagan Marina: flood warning', 'offer', 33_900],
  ['Lagan Water Board: flood warning', 'lost', 31_200],
];
const deals = [
  ...negotiated,
  ...Array.from({ length: 40 }, (_, at): (typeof negotiated)[number] => [
    `${accounts[(at * 11) % accounts.length]?.name}: ${sampler.pick(['renewal 2025', 'spare parts', 'new stations'])}`,
    sampler.pick(stages),
    sampler.between(20, 400) * 100,
  ]),
].map(([title, stage, amountEur], at) => ({ dealId: `D-${7100 + at}`, title, stage, amountEur }));

const server = new McpServer({ name: 'relatia', version: '3.2.0' });
server.registerTool(
  'accounts-list',
  {
    description: 'List customer accounts with their manager, terms and VAT number.',
    inputSchema: { limit: z.number().int().max(25).default(20), offset: z.number().int().default(0) },
    annotations: readOnly,
  },
  ({ limit, offset }) =>
    structured({
      total: accounts.length,
      accounts: accounts.slice(offset, offset + limit),
      nextOffset: offset + limit < accounts.length ? offset + limit : null,
    }),
);
server.registerTool(
  'account-get',
  { description: 'One account with its contacts.', inputSchema: { accountId: z.string() }, annotations: readOnly },
  ({ accountId }) => {
    const account = accounts.find((row) => row.accountId === accountId);
    if (account === undefined) return failure(`Unknown account ${accountId}`);
    return structured({ ...account, contacts: contacts.filter(({ company }) => company === account.name) });
  },
);
server.registerTool(
  'contacts-find',
  {
    description: 'Find contacts whose name contains a text.',
    inputSchema: { name: z.string().describe('Full name or part of it') },
    annotations: readOnly,
  },
  ({ name }) => structured({ contacts: contacts.filter((row) => row.name.toLowerCase().includes(name.toLowerCase())) }),
);
server.registerTool(
  'deals-by-stage',
  { description: 'Deals in a stage of the pipeline.', inputSchema: { stage: z.enum(stages) }, annotations: readOnly },
  ({ stage }) => structured({ deals: deals.filter((row) => row.stage === stage) }),
);
server.registerTool(
  'pipeline-summary',
  { description: 'Forecast of the sales pipeline for the current quarter.', annotations: readOnly },
  () =>
    structured({
      quarter: '2026-Q4',
      targetEur: 1_260_000,
      forecastEur: 1_184_300,
      weightedPipelineEur: 412_750,
      averageDaysToClose: 67,
      maxOpenDeal: 'Lagan Marina: flood warning',
    }),
);

const accountId = z.string();
writes(server, 'contact-create', 'Create a contact.', { name: z.string(), accountId }, changing);
writes(server, 'deal-move-stage', 'Move a deal to a stage.', { dealId: z.string(), stage: z.enum(stages) }, changing);
writes(server, 'note-add', 'Add a note to an account.', { accountId, note: z.string() }, changing);
writes(server, 'account-merge', 'Merge two accounts.', { accountId, into: z.string() }, destructive);
writes(server, 'contact-delete', 'Delete a contact.', { contactId: z.string() }, destructive);

await start(server);
