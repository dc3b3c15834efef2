import type { Migration } from '../migrate.ts';

/** Skills that became part of another one. */
const merged = [
  ['project_management', 'issue_tracking'],
  ['memory', 'notes_and_knowledge'],
  ['meetings_and_calls', 'calendar'],
  ['image_generation', 'design_and_3d'],
] as const;

/** Built-in skills that are new or described otherwise, as they were when this was released. */
const described: readonly { id: string; name: string; description: string; examples: string[] }[] = [
  {
    id: 'issue_tracking',
    name: 'Issues and projects',
    description: 'Issues, bugs, tasks, boards, sprints, milestones and to-do lists: create, assign, plan, close',
    examples: ['create an issue', 'move a card to another list', 'complete a task', 'list sprints'],
  },
  {
    id: 'code_analysis',
    name: 'Code analysis',
    description: 'Searching, linting, formatting, refactoring, decompiling and explaining source code',
    examples: ['find references of a symbol', 'lint a file', 'search code'],
  },
  {
    id: 'developer_docs',
    name: 'Developer documentation',
    description: 'Documentation, API references, code examples and guidelines of libraries, frameworks and platforms',
    examples: ['search the documentation of a library', 'get the usage of a component', 'look up an API reference'],
  },
  {
    id: 'ci_cd',
    name: 'Builds and deployment',
    description: 'Continuous integration, pipelines, builds, releases, app stores and deployments',
    examples: ['trigger a build', 'get pipeline logs', 'deploy to production'],
  },
  {
    id: 'vector_search',
    name: 'Vector and full-text search',
    description: 'Embeddings, vector stores, search indexes and retrieval from collections of documents',
    examples: ['search similar vectors', 'create an index', 'embed a text'],
  },
  {
    id: 'data_analysis',
    name: 'Data analysis',
    description: 'Datasets, statistics, product and web analytics, aggregation and exploration of data',
    examples: ['compute statistics of a dataset', 'load a csv', 'report the visitors of a site'],
  },
  {
    id: 'visualization',
    name: 'Charts and dashboards',
    description: 'Charts, diagrams, graphs, dashboards, whiteboards and mind maps',
    examples: ['draw a bar chart', 'generate a mermaid diagram', 'create a dashboard'],
  },
  {
    id: 'documents',
    name: 'Documents',
    description: 'Text documents, PDF, presentations, forms, conversion and templates',
    examples: ['convert a pdf to text', 'create a word document', 'add a slide'],
  },
  {
    id: 'content_management',
    name: 'Content management',
    description:
      'Websites, blogs and content management systems: pages, entries, content types, assets, themes and publishing',
    examples: ['publish a blog post', 'update an entry of a content type', 'create a page of a website'],
  },
  {
    id: 'notes_and_knowledge',
    name: 'Notes, knowledge and memory',
    description:
      'Notes, wikis, bookmarks, knowledge bases and graphs; what an assistant remembers of entities and conversations',
    examples: ['create a note', 'search wiki pages', 'store a memory', 'add an observation to an entity'],
  },
  {
    id: 'web_search',
    name: 'Web search',
    description:
      'Asking a search engine of the public internet, such as Google, Bing or DuckDuckGo, for pages and images',
    examples: ['search the web', 'google a question', 'find images on the internet'],
  },
  {
    id: 'messaging',
    name: 'Messaging and chat',
    description:
      'Sending and reading messages of people in Slack, Teams, Discord or WhatsApp: channels, direct messages, SMS and push notifications',
    examples: ['post a message to a channel', 'send an sms', 'read a chat thread'],
  },
  {
    id: 'calendar',
    name: 'Calendar and meetings',
    description:
      'Calendar events, appointments, availability, video conferences, recordings and transcripts of meetings',
    examples: ['create an event', 'find free time', 'start a meeting', 'get the transcript of a call'],
  },
  {
    id: 'marketing',
    name: 'Marketing',
    description: 'Campaigns, advertising, newsletters, audiences, short links and search engine optimisation',
    examples: ['create a campaign', 'get ad performance', 'analyse keywords'],
  },
  {
    id: 'ecommerce',
    name: 'Commerce',
    description: 'Products, orders, carts, inventory, offers and shopping',
    examples: ['list orders', 'update a product', 'compare prices'],
  },
  {
    id: 'payments',
    name: 'Payments and accounting',
    description: 'Payments, invoices, subscriptions, refunds, expenses, budgets and bookkeeping',
    examples: ['create an invoice', 'refund a charge', 'list transactions of an account'],
  },
  {
    id: 'finance',
    name: 'Markets and investing',
    description: 'Stocks, funds, market data, exchange rates, brokers and portfolios',
    examples: ['get a stock price', 'company income statement', 'place a trade'],
  },
  {
    id: 'blockchain',
    name: 'Blockchain',
    description: 'Cryptocurrencies, wallets, tokens, smart contracts and transactions on chains',
    examples: ['get a wallet balance', 'swap tokens', 'read a smart contract'],
  },
  {
    id: 'cloud_infrastructure',
    name: 'Cloud infrastructure',
    description:
      'Virtual machines, cloud resources and subscriptions, serverless functions, hosting and its environments',
    examples: ['list virtual machines', 'create a resource group', 'deploy a function'],
  },
  {
    id: 'monitoring',
    name: 'Monitoring and logs',
    description: 'Metrics, logs, traces, errors, alerts, incidents and uptime of running systems',
    examples: ['query logs', 'list alerts', 'get metrics'],
  },
  {
    id: 'networking',
    name: 'Networks and domains',
    description: 'Networks, routers, firewalls and VPN; DNS records, domain names, WHOIS, IP addresses and ports',
    examples: ['look up a dns record', 'check whether a domain is available', 'capture network traffic'],
  },
  {
    id: 'security',
    name: 'Security',
    description: 'Vulnerabilities, threats, malware, scanning, secrets, encryption, identities and access rights',
    examples: ['scan for vulnerabilities', 'look up an ip reputation', 'rotate a secret'],
  },
  {
    id: 'design_and_3d',
    name: 'Images, design and 3D',
    description: 'Generating, editing and analysing images; design files, icons, CAD and 3D models',
    examples: ['generate an image', 'remove a background', 'export a design', 'add an object to a 3D scene'],
  },
  {
    id: 'language_models',
    name: 'Language models and agents',
    description: 'Asking language models, choosing models, prompts, evaluations and agents',
    examples: ['ask a model', 'list prompts', 'run an agent'],
  },
  {
    id: 'reasoning',
    name: 'Reasoning and thinking',
    description: 'Thinking step by step: thoughts, mental models, decisions, reflection and planning of a solution',
    examples: ['think through a problem step by step', 'record a thought', 'apply a mental model'],
  },
  {
    id: 'translation_and_text',
    name: 'Text and translation',
    description: 'Translating, summarising, rewriting, checking and comparing text; words and dictionaries',
    examples: ['translate a text', 'summarise an article', 'define a word'],
  },
  {
    id: 'travel',
    name: 'Travel',
    description: 'Flights, hotels, trains, bookings, sights and itineraries',
    examples: ['search flights', 'book a hotel', 'plan a trip'],
  },
  {
    id: 'news_and_research',
    name: 'News and research',
    description: 'News, scientific papers, books, museums, encyclopedias, laws and public data',
    examples: ['find papers', 'latest headlines', 'look up an article'],
  },
  {
    id: 'education',
    name: 'Education',
    description: 'Courses, lessons, quizzes, students, flashcards and learning',
    examples: ['list assignments', 'grade a submission', 'create flashcards'],
  },
  {
    id: 'jobs_and_people',
    name: 'Jobs and people',
    description:
      'Work and human resources: employees, hiring, job postings of companies, candidates, leave and payroll',
    examples: ['find job postings', 'list employees of a company', 'request time off'],
  },
  {
    id: 'api_integration',
    name: 'APIs and automation',
    description: 'HTTP requests, webhooks, workflows, API specifications, connectors and MCP servers',
    examples: ['send an http request', 'create a workflow', 'register a webhook'],
  },
  {
    id: 'server_utilities',
    name: 'Server utilities',
    description:
      'About the server itself: version, ping, health check, status, help, list of its tools, echo and demonstration tools',
    examples: ['get the version of the server', 'ping the server', 'echo a message', 'show help'],
  },
];

/** What an admin wrote stays; tools keep the skills they have, by the new ids, until they are classified again. */
export const skillTaxonomy: Migration = {
  name: '060-skills',
  statements: (types) => [
    ...merged.flatMap(([from, to]) => [
      // A list with both would hold one twice.
      `update tools set skill_ids = '[]', primary_skill_id = null, skill_confidences = '{}',
          is_classified = ${types.false}, classification_state = 'DISCOVERED'
        where cast(skill_ids as text) like '%"${from}"%' and cast(skill_ids as text) like '%"${to}"%'`,
      `update tools set skill_ids = ${renamed('skill_ids', from, to, types.json)},
          skill_confidences = ${renamed('skill_confidences', from, to, types.json)}
        where cast(skill_ids as text) like '%"${from}"%'`,
      `update tools set primary_skill_id = '${to}' where primary_skill_id = '${from}'`,
      `delete from skills where id = '${from}' and origin = 'builtin'`,
    ]),
    `update tools set classification_state = 'CLASSIFYING' where classification_state = 'CLASSIFIED'`,
    // They answer for skills that are no longer asked for.
    'delete from classifications',
    ...described.flatMap(({ id, name, description, examples }) => {
      const [nameText, descriptionText] = [name, description].map(quoted);
      const examplesText = `cast(${quoted(JSON.stringify(examples))} as ${types.json})`;
      return [
        `update skills set name = ${nameText}, description = ${descriptionText}, examples = ${examplesText}
          where id = '${id}' and origin = 'builtin'`,
        // A database without any skill gets all of them at the start.
        `insert into skills (id, name, description, examples, origin, created_at, updated_at)
          select '${id}', ${nameText}, ${descriptionText}, ${examplesText}, 'builtin', max(created_at), max(updated_at)
          from skills where not exists (select 1 from skills where id = '${id}') having count(*) > 0`,
      ];
    }),
  ],
};

function renamed(column: string, from: string, to: string, json: string): string {
  return `cast(replace(cast(${column} as text), '"${from}"', '"${to}"') as ${json})`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
