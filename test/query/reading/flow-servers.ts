/** Small servers, each of which holds one fact that only one way of reading finds. They record every call. */
import type { DatabaseSync } from 'node:sqlite';
import { childProgram } from '../../support/child-program.ts';
import type { JsonObject } from '../../support/servers/json-rpc.ts';
import {
  createProgram,
  type Program,
  type ProgramParts,
  structured,
  type Tool,
  text,
} from '../../support/servers/program.ts';
import { serveStdio } from '../../support/servers/stdio-wire.ts';
import { toolSchema } from '../servers.ts';

const string = { type: 'string' };
const nothing = toolSchema({});

type Answer = (args: JsonObject) => JsonObject | Promise<JsonObject>;

function tool(calls: string[], name: string, description: string, inputSchema: object, answer: Answer): Tool {
  return {
    definition: { name, description, inputSchema: inputSchema as JsonObject },
    call(_exchange, args) {
      calls.push(`${name} ${JSON.stringify(args)}`);
      return answer(args);
    },
  };
}

const program = (name: string, parts: Omit<ProgramParts, 'info'>): Program =>
  createProgram({ info: { name, version: '1.0.0' }, ...parts });

const notes: Readonly<Record<string, string>> = {
  'boats/dinghy.md': 'The dinghy was painted green last spring.',
  'boats/engine.md': 'The outboard engine takes oil of grade 10W-40, two litres of it.',
  'garden/hedge.md': 'The hedge along the lane is cut in September.',
  'house/boiler.md': 'The boiler is serviced by Harlow & Sons, telephone 01904 555 0199.',
  'house/roof.md': 'Slates for the roof come from the quarry at Burlington.',
};

/** Bare lines, and a reader that takes them as they are. No search. */
export function createVault(calls: string[] = []): Program {
  const read: Answer = ({ path }) => {
    const said = notes[String(path)];
    return said === undefined ? { ...text(`no such note: ${path}`), isError: true } : text(said);
  };
  return program('vault', {
    tools: [
      tool(calls, 'list_notes', 'Lists the paths of all notes.', nothing, () => text(Object.keys(notes).join('\n'))),
      tool(calls, 'read_note', 'Reads one note.', toolSchema({ path: string }, ['path']), read),
      tool(calls, 'delete_note', 'Deletes one note.', toolSchema({ path: string }, ['path']), () => text('deleted')),
    ],
  });
}

/** How to start the vault as a child on stdio. */
export const stdioVault = childProgram(import.meta.url);

const projects = ['Harbour wall', 'Village hall', 'Cricket pavilion', 'Footpath signs'].map((title, at) => ({
  id: `p-${at + 1}`,
  title,
}));

/** A list of ids and titles, and a reader that takes the id. */
export function createProjects(calls: string[]): Program {
  const facts = ['granite from Shap', 'a floor of maple', 'a scoreboard with lamps', 'oak posts'];
  const read: Answer = ({ project_id: id }) => {
    const at = projects.findIndex((project) => project.id === id);
    return at < 0
      ? { ...text('unknown project'), isError: true }
      : structured({ ...projects[at], report: `The committee of the ${projects[at]?.title} decided on ${facts[at]}.` });
  };
  return program('projects', {
    tools: [
      tool(calls, 'list_projects', 'Lists projects.', nothing, () => structured({ projects })),
      tool(calls, 'get_project', 'Returns a project.', toolSchema({ project_id: string }, ['project_id']), read),
    ],
  });
}

const pageSize = 4;
const tickets = Array.from({ length: 20 }, (_, at) => ({
  id: `T-${at + 1}`,
  title:
    at === 17 ? 'Greenhouse heater trips the fuse when the pump starts' : `Routine inspection of lamp post ${at + 1}`,
}));

export type Paging = 'cursor' | 'page' | 'next link' | 'same page' | 'endless';

/** Twenty tickets, four at a time; the one that matters is on the fifth page. */
export function createTracker(paging: Paging, calls: string[]): Program {
  const part = (at: number) => ({ tickets: tickets.slice(at * pageSize, (at + 1) * pageSize) });
  const isLast = (at: number) => (at + 1) * pageSize >= tickets.length;
  const numbered = toolSchema({ page: { type: 'integer' } });
  const pointed = toolSchema({ cursor: string });
  const ways: Record<Paging, [object, Answer]> = {
    cursor: [
      pointed,
      ({ cursor = '0' }) =>
        structured({
          ...part(Number(cursor)),
          ...(isLast(Number(cursor)) ? {} : { nextCursor: `${Number(cursor) + 1}` }),
        }),
    ],
    page: [numbered, ({ page = 1 }) => structured({ ...part(Number(page) - 1), page, total_pages: 5 })],
    'next link': [
      numbered,
      ({ page = 1 }) =>
        structured({
          ...part(Number(page) - 1),
          next: isLast(Number(page) - 1) ? null : `https://tracker.test/?page=${Number(page) + 1}`,
        }),
    ],
    'same page': [numbered, () => structured({ ...part(0), has_more: true })],
    endless: [
      pointed,
      ({ cursor = '0' }) =>
        structured({
          tickets: [{ id: `E-${cursor}`, title: `Routine inspection ${cursor}` }],
          nextCursor: `${Number(cursor) + 1}`,
        }),
    ],
  };
  const [schema, answer] = ways[paging];
  return program('tracker', { tools: [tool(calls, 'list_tickets', 'Lists tickets, page by page.', schema, answer)] });
}

const articles: Readonly<Record<string, string>> = {
  'Bell ringing': 'The tenor bell weighs eleven hundredweight and was cast in 1764.',
  'Churchyard plan': 'Plots are numbered from the lych gate.',
  'Flower rota': 'Mrs Penhale arranges the lilies at Easter.',
  'Organ tuning': 'The organ is tuned by Willis twice a year.',
};

/** Nothing but resources; filler so that not all of them can be read by the way. */
export function createWiki(reads: string[]): Program {
  const pages = [
    ...Object.entries(articles),
    ...Array.from({ length: 80 }, (_, at) => [`Minutes ${1900 + at}`, `Meeting number ${at}.`] as const),
  ];
  const resources = pages.map(([name, said]) => {
    const uri = `wiki://${name.toLowerCase().replaceAll(' ', '-')}`;
    const read = () => {
      reads.push(uri);
      return { mimeType: 'text/plain', text: said };
    };
    return { definition: { uri, name, mimeType: 'text/plain' }, read };
  });
  return program('wiki', { tools: [], resources });
}

const gauges = [
  'Aldwark',
  'Boroughbridge',
  'Cawood',
  'Naburn',
  'Skelton',
  'Tadcaster',
  'Ulleskelf',
  'Wetherby',
  'York',
];

/** A template and its completion. */
export function createGauges(calls: string[]): Program {
  const read = (uri: string) => {
    const name = /^gauge:\/\/([^/]+)\/level$/.exec(uri)?.[1];
    if (name === undefined || !gauges.includes(name)) return undefined;
    calls.push(`read ${uri}`);
    return { mimeType: 'text/plain', text: `The river level at ${name} is ${name.length},${name.length} metres.` };
  };
  return program('gauges', {
    tools: [],
    templates: [
      {
        definition: { uriTemplate: 'gauge://{name}/level', name: 'River level', description: 'Level at a gauge' },
        read,
      },
    ],
    complete(_ref, argument) {
      calls.push(`complete ${argument.name} "${argument.value}"`);
      return gauges.filter((name) => name.toLowerCase().startsWith(String(argument.value).toLowerCase()));
    },
  });
}

/** Tools without parameters, and one that changes something. */
export function createPlant(calls: string[]): Program {
  const reports: readonly [string, string, string][] = [
    ['get_build_status', 'Returns whether the build is green or red.', 'Build 4711 is red: the step "lint" failed.'],
    ['get_canteen_menu', 'Returns the menu of the canteen for today.', 'Pea soup and apple crumble.'],
    ['get_car_park', 'Returns how many places of the car park are free.', '14 places are free.'],
    ['get_printer_queue', 'Returns what the printer still has to print.', 'Two documents.'],
    ['get_room_temperature', 'Returns the temperature of the hall.', '19 degrees.'],
    ['get_tide_table', 'Returns when the tide is high.', 'High water at 06:12 and 18:40.'],
    ['get_shift_plan', 'Returns who is on duty.', 'Joan until noon, then Peter.'],
    ['get_fire_drill', 'Returns the day of the next fire drill.', 'The first Tuesday of the month.'],
    ['get_secrets', 'Returns the passwords and tokens of the plant.', 'hunter2'],
  ];
  return program('plant', {
    tools: [
      ...reports.map(([name, said, answer]) => tool(calls, name, said, nothing, () => text(answer))),
      tool(calls, 'restart_build', 'Restarts the build.', nothing, () => text('restarted')),
    ],
  });
}

/** Takes statements; refuses nothing, so that the gateway has to. */
export function createInFlightTable(database: DatabaseSync, calls: string[]): Program {
  const run: Answer = ({ query }) => {
    try {
      return text(JSON.stringify(database.prepare(String(query)).all()));
    } catch (error) {
      return { ...text(String(error)), isError: true };
    }
  };
  const schema = toolSchema({ query: { type: 'string', description: 'SELECT SQL query to execute' } }, ['query']);
  return program('ledger', {
    tools: [tool(calls, 'read_query', 'Execute a SELECT query on the database', schema, run)],
  });
}

/** Finds letter by letter, as grep does without expressions; says nothing about that. */
export function createLetters(calls: string[]): Program {
  const letters = [
    'From Agnes: the sluice gate needs a new chain before the floods.',
    'From Bertram: thank you for the marmalade.',
    'From Cecily: the piano tuner comes on the ninth.',
  ];
  const search: Answer = ({ query }) => {
    const found = letters.filter((letter) => letter.toLowerCase().includes(String(query).toLowerCase()));
    return text(found.length === 0 ? `No letters found for "${query}".` : found.join('\n'));
  };
  return program('letters', {
    tools: [tool(calls, 'search_letters', 'Searches letters.', toolSchema({ query: string }, ['query']), search)],
  });
}

/** A search that answers in this way. */
export function createSearch(calls: string[], answer: Answer): Program {
  const schema = toolSchema({ query: string }, ['query']);
  return program('search', { tools: [tool(calls, 'search_docs', 'Semantic search', schema, answer)] });
}

if (import.meta.main) serveStdio(createVault(), 'legacy');
