/** A category of tools. People may add, change and remove skills; these are the ones a new installation starts with. */
export interface Skill {
  id: string;
  name: string;
  description: string;
  examples: string[];
}

export const defaultSkills: Skill[] = [
  skill(
    'code_management',
    'Code management',
    'Repositories, branches, commits, pull requests and code review on Git hosts',
    ['create a pull request', 'list commits of a branch', 'merge a branch'],
  ),
  skill(
    'issue_tracking',
    'Issues and projects',
    'Issues, bugs, tasks, boards, sprints, milestones and to-do lists: create, assign, plan, close',
    ['create an issue', 'move a card to another list', 'complete a task', 'list sprints'],
  ),
  skill(
    'code_analysis',
    'Code analysis',
    'Searching, linting, formatting, refactoring, decompiling and explaining source code',
    ['find references of a symbol', 'lint a file', 'search code'],
  ),
  skill(
    'developer_docs',
    'Developer documentation',
    'Documentation, API references, code examples and guidelines of libraries, frameworks and platforms',
    ['search the documentation of a library', 'get the usage of a component', 'look up an API reference'],
  ),
  skill(
    'code_execution',
    'Code execution',
    'Running code, scripts, notebooks and shell commands in a terminal or sandbox',
    ['execute python code', 'run a shell command', 'run a notebook cell'],
  ),
  skill('testing', 'Testing', 'Automated tests, test cases, test runs, coverage and load tests', [
    'run the unit tests',
    'create a test case',
    'start a load test',
  ]),
  skill(
    'ci_cd',
    'Builds and deployment',
    'Continuous integration, pipelines, builds, releases, app stores and deployments',
    ['trigger a build', 'get pipeline logs', 'deploy to production'],
  ),
  skill('file_management', 'File management', 'Reading, writing, moving, listing and searching files and directories', [
    'read a file',
    'list a directory',
    'move a file',
  ]),
  skill('cloud_storage', 'Cloud storage', 'Buckets, objects, blobs and shared drives: upload, download, share', [
    'upload a file to a bucket',
    'list drive folders',
    'share a document',
  ]),
  skill('database', 'Databases', 'SQL and NoSQL databases: queries, tables, schemas, records, migrations', [
    'run a SQL query',
    'list tables',
    'insert documents into a collection',
  ]),
  skill(
    'vector_search',
    'Vector and full-text search',
    'Embeddings, vector stores, search indexes and retrieval from collections of documents',
    ['search similar vectors', 'create an index', 'embed a text'],
  ),
  skill(
    'data_analysis',
    'Data analysis',
    'Datasets, statistics, product and web analytics, aggregation and exploration of data',
    ['compute statistics of a dataset', 'load a csv', 'report the visitors of a site'],
  ),
  skill('visualization', 'Charts and dashboards', 'Charts, diagrams, graphs, dashboards, whiteboards and mind maps', [
    'draw a bar chart',
    'generate a mermaid diagram',
    'create a dashboard',
  ]),
  skill('spreadsheets', 'Spreadsheets', 'Spreadsheets, worksheets, cells, formulas and tables of rows', [
    'update cells',
    'create a worksheet',
    'append a row',
  ]),
  skill('documents', 'Documents', 'Text documents, PDF, presentations, forms, conversion and templates', [
    'convert a pdf to text',
    'create a word document',
    'add a slide',
  ]),
  skill(
    'content_management',
    'Content management',
    'Websites, blogs and content management systems: pages, entries, content types, assets, themes and publishing',
    ['publish a blog post', 'update an entry of a content type', 'create a page of a website'],
  ),
  skill(
    'notes_and_knowledge',
    'Notes, knowledge and memory',
    'Notes, wikis, bookmarks, knowledge bases and graphs; what an assistant remembers of entities and conversations',
    ['create a note', 'search wiki pages', 'store a memory', 'add an observation to an entity'],
  ),
  skill(
    'web_search',
    'Web search',
    'Asking a search engine of the public internet, such as Google, Bing or DuckDuckGo, for pages and images',
    ['search the web', 'google a question', 'find images on the internet'],
  ),
  skill('web_scraping', 'Web scraping', 'Fetching, crawling and extracting the content of web pages', [
    'scrape a page',
    'crawl a site',
    'extract text from a url',
  ]),
  skill('browser_automation', 'Browser automation', 'Controlling a browser: navigate, click, type, take screenshots', [
    'click a button',
    'take a screenshot of a page',
    'fill in a form',
  ]),
  skill('email', 'Email', 'Reading, searching, drafting and sending email', [
    'send an email',
    'search the inbox',
    'create a draft',
  ]),
  skill(
    'messaging',
    'Messaging and chat',
    'Sending and reading messages of people in Slack, Teams, Discord or WhatsApp: channels, direct messages, SMS and push notifications',
    ['post a message to a channel', 'send an sms', 'read a chat thread'],
  ),
  skill(
    'calendar',
    'Calendar and meetings',
    'Calendar events, appointments, availability, video conferences, recordings and transcripts of meetings',
    ['create an event', 'find free time', 'start a meeting', 'get the transcript of a call'],
  ),
  skill('social_media', 'Social media', 'Posts, profiles, followers, videos and trends of social networks', [
    'publish a post',
    'get user tweets',
    'list video comments',
  ]),
  skill('contacts_and_crm', 'Contacts and CRM', 'Customers, contacts, leads, deals and sales pipelines', [
    'create a contact',
    'update a deal',
    'search leads',
  ]),
  skill(
    'customer_support',
    'Customer support',
    'Support tickets, help desks, conversations with customers and feedback',
    ['reply to a customer', 'list help desk tickets', 'close a conversation'],
  ),
  skill(
    'marketing',
    'Marketing',
    'Campaigns, advertising, newsletters, audiences, short links and search engine optimisation',
    ['create a campaign', 'get ad performance', 'analyse keywords'],
  ),
  skill('ecommerce', 'Commerce', 'Products, orders, carts, inventory, offers and shopping', [
    'list orders',
    'update a product',
    'compare prices',
  ]),
  skill(
    'payments',
    'Payments and accounting',
    'Payments, invoices, subscriptions, refunds, expenses, budgets and bookkeeping',
    ['create an invoice', 'refund a charge', 'list transactions of an account'],
  ),
  skill('finance', 'Markets and investing', 'Stocks, funds, market data, exchange rates, brokers and portfolios', [
    'get a stock price',
    'company income statement',
    'place a trade',
  ]),
  skill('blockchain', 'Blockchain', 'Cryptocurrencies, wallets, tokens, smart contracts and transactions on chains', [
    'get a wallet balance',
    'swap tokens',
    'read a smart contract',
  ]),
  skill(
    'cloud_infrastructure',
    'Cloud infrastructure',
    'Virtual machines, cloud resources and subscriptions, serverless functions, hosting and its environments',
    ['list virtual machines', 'create a resource group', 'deploy a function'],
  ),
  skill('containers', 'Containers', 'Docker, Kubernetes, pods, images and clusters', [
    'list pods',
    'start a container',
    'scale a deployment',
  ]),
  skill(
    'monitoring',
    'Monitoring and logs',
    'Metrics, logs, traces, errors, alerts, incidents and uptime of running systems',
    ['query logs', 'list alerts', 'get metrics'],
  ),
  skill(
    'networking',
    'Networks and domains',
    'Networks, routers, firewalls and VPN; DNS records, domain names, WHOIS, IP addresses and ports',
    ['look up a dns record', 'check whether a domain is available', 'capture network traffic'],
  ),
  skill(
    'security',
    'Security',
    'Vulnerabilities, threats, malware, scanning, secrets, encryption, identities and access rights',
    ['scan for vulnerabilities', 'look up an ip reputation', 'rotate a secret'],
  ),
  skill(
    'design_and_3d',
    'Images, design and 3D',
    'Generating, editing and analysing images; design files, icons, CAD and 3D models',
    ['generate an image', 'remove a background', 'export a design', 'add an object to a 3D scene'],
  ),
  skill('audio_video', 'Audio and video', 'Music, speech, podcasts and video: play, edit, transcribe, generate', [
    'convert text to speech',
    'play a song',
    'cut a video',
  ]),
  skill(
    'language_models',
    'Language models and agents',
    'Asking language models, choosing models, prompts, evaluations and agents',
    ['ask a model', 'list prompts', 'run an agent'],
  ),
  skill(
    'reasoning',
    'Reasoning and thinking',
    'Thinking step by step: thoughts, mental models, decisions, reflection and planning of a solution',
    ['think through a problem step by step', 'record a thought', 'apply a mental model'],
  ),
  skill(
    'translation_and_text',
    'Text and translation',
    'Translating, summarising, rewriting, checking and comparing text; words and dictionaries',
    ['translate a text', 'summarise an article', 'define a word'],
  ),
  skill('maps_and_location', 'Maps and places', 'Addresses, routes, places, distances and geographic data', [
    'geocode an address',
    'get directions',
    'find places nearby',
  ]),
  skill('travel', 'Travel', 'Flights, hotels, trains, bookings, sights and itineraries', [
    'search flights',
    'book a hotel',
    'plan a trip',
  ]),
  skill('weather', 'Weather and environment', 'Forecasts, current conditions, air quality, climate and earth data', [
    'get the forecast',
    'weather alerts',
    'air quality',
  ]),
  skill(
    'news_and_research',
    'News and research',
    'News, scientific papers, books, museums, encyclopedias, laws and public data',
    ['find papers', 'latest headlines', 'look up an article'],
  ),
  skill('health', 'Health and food', 'Medicine, drugs, fitness, nutrition and recipes', [
    'look up a drug',
    'log a workout',
    'find a recipe',
  ]),
  skill('education', 'Education', 'Courses, lessons, quizzes, students, flashcards and learning', [
    'list assignments',
    'grade a submission',
    'create flashcards',
  ]),
  skill(
    'jobs_and_people',
    'Jobs and people',
    'Work and human resources: employees, hiring, job postings of companies, candidates, leave and payroll',
    ['find job postings', 'list employees of a company', 'request time off'],
  ),
  skill('entertainment', 'Games and entertainment', 'Games, films, series, sports, jokes and fun', [
    'find a movie',
    'get match results',
    'start a game',
  ]),
  skill('smart_home', 'Devices and home', 'Smart home, sensors, phones, robots and other hardware', [
    'turn on a light',
    'read a sensor',
    'press a key on a device',
  ]),
  skill(
    'api_integration',
    'APIs and automation',
    'HTTP requests, webhooks, workflows, API specifications, connectors and MCP servers',
    ['send an http request', 'create a workflow', 'register a webhook'],
  ),
  skill(
    'time_and_math',
    'Time, numbers and utilities',
    'Calculation, units, dates, time zones, random values and encoding',
    ['convert units', 'current time in a zone', 'evaluate an expression'],
  ),
  skill(
    'server_utilities',
    'Server utilities',
    'About the server itself: version, ping, health check, status, help, list of its tools, echo and demonstration tools',
    ['get the version of the server', 'ping the server', 'echo a message', 'show help'],
  ),
];

function skill(id: string, name: string, description: string, examples: string[]): Skill {
  return { id, name, description, examples };
}

/** The text that stands for a skill in the vector space while it has no tools. */
export function toSkillText({ name, description, examples }: Skill): string {
  return `${name}. ${description}. ${examples.join(', ')}`;
}
