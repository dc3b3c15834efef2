import { childProgram } from '../child-program.ts';
import { type HttpTransport, startHttpProgram } from './http-program.ts';
import type { RunningServer } from './http-wire.ts';
import { createProgram, type Program, structured, type Tool, text } from './program.ts';
import { serveStdio } from './stdio-wire.ts';

/** Pages of two manuals of the same HTTP client: the second is an older copy of the first, with pages of its own. */
const handbook = {
  retries: {
    title: 'Retries',
    content:
      'Failed requests are retried three times by default. Set `retry.limit` to change how often, and `retry.delay` to change the pause before each attempt. Only idempotent methods are retried, because a request that changes something may have been carried out although its answer was lost.',
  },
  timeouts: {
    title: 'Timeouts',
    content:
      'A request gives up after ten seconds. `timeout.connect` bounds the time until a connection stands, `timeout.answer` the time until the first byte of the answer. A timeout counts as a failure, and so it is retried like any other.',
  },
  proxies: {
    title: 'Proxies',
    content:
      'Requests go through the proxy that the environment names. `proxy.exclude` lists hosts that are reached directly. Credentials for the proxy belong into the keychain and never into the address.',
  },
  caching: {
    title: 'Caching',
    content:
      'Answers that say how long they are fresh are kept for that long. `cache.size` bounds the memory, `cache.store` names a folder where entries survive a restart of the program.',
  },
};

const manual = {
  // Letter by letter the same.
  timeouts: handbook.timeouts,
  // An older wording of the same page.
  retries: {
    title: 'Retries',
    content: handbook.retries.content
      .replace('three times by default', 'three times')
      .replace('carried out although its answer', 'carried out, although its answer'),
  },
  backoff: {
    title: 'Backoff between retries',
    content:
      'With `retry.backoff` the pause doubles after every failed attempt, up to one minute. Servers that say when to come back are obeyed instead, and a random share is added so that many clients do not come back at once.',
  },
  cookies: {
    title: 'Cookies',
    content: 'Cookies are kept per host in memory. Hand over a jar of your own to keep them between two runs.',
  },
};

export const manuals = { handbook, manual };
export type Manual = keyof typeof manuals;

/** A documentation server: `search_docs` finds pages by words, `get_page` reads one, `delete_page` must never be called. */
export function createDocumentation(manual: Manual, calls: string[] = []): Program {
  const pages = Object.entries(manuals[manual]).map(([id, page]) => ({
    id,
    url: `https://${manual}.test/${id}`,
    ...page,
  }));
  const tools: Tool[] = [
    {
      definition: {
        name: 'search_docs',
        description: 'Searches the documentation of the HTTP client and returns the pages that fit best.',
        inputSchema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
        annotations: { readOnlyHint: true },
      },
      call(_exchange, { query }) {
        calls.push(`search_docs ${query}`);
        const words =
          String(query)
            .toLowerCase()
            .match(/[a-z]{3,}/g) ?? [];
        const fit = (page: (typeof pages)[number]) =>
          words.filter((word) => `${page.title} ${page.content}`.toLowerCase().includes(word)).length;
        const results = pages.filter((page) => fit(page) > 0).sort((a, b) => fit(b) - fit(a));
        return structured({ results: results.map(({ title, url, content }) => ({ title, url, content })) });
      },
    },
    {
      definition: {
        name: 'get_page',
        description: 'Reads one page of the documentation by its id.',
        inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
        annotations: { readOnlyHint: true },
      },
      call(_exchange, { id }) {
        calls.push(`get_page ${id}`);
        return text(pages.find((page) => page.id === id)?.content ?? `There is no page ${id}.`);
      },
    },
    {
      definition: {
        name: 'list_pages',
        description: 'Lists the ids of all pages.',
        inputSchema: { type: 'object', properties: {} },
        annotations: { readOnlyHint: true },
      },
      call() {
        calls.push('list_pages');
        return structured({ pages: pages.map(({ id, title }) => ({ id, title })) });
      },
    },
    {
      definition: {
        name: 'delete_page',
        description: 'Deletes the page that a query finds.',
        inputSchema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
      },
      call(_exchange, { query }) {
        calls.push(`delete_page ${query}`);
        return text('deleted');
      },
    },
  ];
  return createProgram({ info: { name: manual, version: '1.0.0' }, tools });
}

export interface OddAnswers {
  /** What `search_docs` does when it is asked. */
  search: Tool['call'];
}

/** A documentation server that answers in a way of its own. */
export function createOddDocumentation(name: string, { search }: OddAnswers): Program {
  const { definition } = createDocumentation('handbook').tools.get('search_docs') as Tool;
  return createProgram({ info: { name, version: '1.0.0' }, tools: [{ definition, call: search }] });
}

export function startDocumentation(
  program: Program,
  transport: HttpTransport = 'streamable-legacy',
): Promise<RunningServer> {
  return startHttpProgram(program, { transport });
}

/** How to start one as a child on stdio. */
export function stdioDocumentation(manual: Manual) {
  return childProgram(import.meta.url, manual);
}

if (import.meta.main) serveStdio(createDocumentation(process.argv[2] === 'manual' ? 'manual' : 'handbook'), 'legacy');
