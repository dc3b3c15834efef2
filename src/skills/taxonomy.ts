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
    'Issue tracking',
    'Bugs, issues and tickets of software projects: create, assign, comment, close',
    ['create an issue', 'list open bugs', 'add a comment to a ticket'],
  ),
  skill(
    'project_management',
    'Project management',
    'Tasks, boards, sprints, milestones, to-do lists and planning of work',
    ['create a task', 'move a card to another list', 'list sprints'],
  ),
  skill(
    'code_analysis',
    'Code analysis',
    'Reading, searching, linting, formatting, refactoring and explaining source code',
    ['find references of a symbol', 'lint a file', 'search code'],
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
  skill('ci_cd', 'Builds and deployment', 'Continuous integration, pipelines, builds, releases and deployments', [
    'trigger a build',
    'get pipeline logs',
    'deploy to production',
  ]),
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
    'Embeddings, vector stores, search indexes and semantic retrieval',
    ['search similar vectors', 'create an index', 'embed a text'],
  ),
  skill('data_analysis', 'Data analysis', 'Datasets, statistics, aggregation, data frames and exploration of data', [
    'compute statistics of a dataset',
    'load a csv',
    'find correlations',
  ]),
  skill('visualization', 'Charts and diagrams', 'Charts, plots, graphs, diagrams and dashboards', [
    'draw a bar chart',
    'generate a mermaid diagram',
    'create a dashboard',
  ]),
  skill('spreadsheets', 'Spreadsheets', 'Spreadsheets, worksheets, cells, formulas and tables of rows', [
    'update cells',
    'create a worksheet',
    'append a row',
  ]),
  skill('documents', 'Documents', 'Text documents, PDF, presentations, conversion and templates', [
    'convert a pdf to text',
    'create a word document',
    'add a slide',
  ]),
  skill('notes_and_knowledge', 'Notes and knowledge', 'Notes, wikis, pages, knowledge bases and graphs', [
    'create a note',
    'search wiki pages',
    'link two notes',
  ]),
  skill('memory', 'Memory and context', 'Remembering facts, entities and conversations for an assistant', [
    'store a memory',
    'recall what was said',
    'add an observation to an entity',
  ]),
  skill('web_search', 'Web search', 'Searching the internet with search engines', [
    'search the web',
    'find images',
    'look up recent pages',
  ]),
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
  skill('messaging', 'Messaging and chat', 'Chat channels, direct messages, threads, SMS and notifications', [
    'post a message to a channel',
    'send an sms',
    'read a chat thread',
  ]),
  skill('calendar', 'Calendar and scheduling', 'Events, meetings, appointments, availability and reminders', [
    'create an event',
    'find free time',
    'list meetings',
  ]),
  skill('meetings_and_calls', 'Meetings and calls', 'Video conferences, phone calls, recordings and transcripts', [
    'start a meeting',
    'get a transcript',
    'make a phone call',
  ]),
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
  skill('marketing', 'Marketing', 'Campaigns, advertising, newsletters, audiences and search engine optimisation', [
    'create a campaign',
    'get ad performance',
    'analyse keywords',
  ]),
  skill('ecommerce', 'Commerce', 'Products, orders, carts, inventory and shopping', [
    'list orders',
    'update a product',
    'compare prices',
  ]),
  skill('payments', 'Payments and accounting', 'Payments, invoices, subscriptions, refunds, expenses and bookkeeping', [
    'create an invoice',
    'refund a charge',
    'list transactions of an account',
  ]),
  skill('finance', 'Markets and investing', 'Stocks, funds, market data, exchange rates and portfolios', [
    'get a stock price',
    'company income statement',
    'place a trade',
  ]),
  skill('blockchain', 'Blockchain', 'Cryptocurrencies, wallets, tokens, smart contracts and transactions on chains', [
    'get a wallet balance',
    'swap tokens',
    'read a contract',
  ]),
  skill(
    'cloud_infrastructure',
    'Cloud infrastructure',
    'Virtual machines, cloud resources, subscriptions, serverless functions and networks',
    ['list virtual machines', 'create a resource group', 'deploy a function'],
  ),
  skill('containers', 'Containers', 'Docker, Kubernetes, pods, images and clusters', [
    'list pods',
    'start a container',
    'scale a deployment',
  ]),
  skill('monitoring', 'Monitoring and logs', 'Metrics, logs, traces, alerts and incidents of running systems', [
    'query logs',
    'list alerts',
    'get metrics',
  ]),
  skill('security', 'Security', 'Vulnerabilities, threats, scanning, secrets, identities and access rights', [
    'scan for vulnerabilities',
    'look up an ip reputation',
    'rotate a secret',
  ]),
  skill(
    'image_generation',
    'Images and design',
    'Generating, editing and analysing images; design files, icons and 3D models',
    ['generate an image', 'remove a background', 'export a design'],
  ),
  skill('audio_video', 'Audio and video', 'Music, speech, podcasts and video: play, edit, transcribe, generate', [
    'convert text to speech',
    'play a song',
    'cut a video',
  ]),
  skill(
    'language_models',
    'Language models and agents',
    'Asking language models, prompts, reasoning steps and agents',
    ['ask a model', 'list prompts', 'run an agent'],
  ),
  skill(
    'translation_and_text',
    'Text and translation',
    'Translating, summarising, rewriting, checking and converting text',
    ['translate a text', 'summarise an article', 'count words'],
  ),
  skill('maps_and_location', 'Maps and places', 'Addresses, routes, places, distances and geographic data', [
    'geocode an address',
    'get directions',
    'find places nearby',
  ]),
  skill('travel', 'Travel', 'Flights, hotels, trains, bookings and itineraries', [
    'search flights',
    'book a hotel',
    'plan a trip',
  ]),
  skill('weather', 'Weather and environment', 'Forecasts, current conditions, air quality, climate and earth data', [
    'get the forecast',
    'weather alerts',
    'air quality',
  ]),
  skill('news_and_research', 'News and research', 'News, scientific papers, books, encyclopedias and public data', [
    'find papers',
    'latest headlines',
    'look up an article',
  ]),
  skill('health', 'Health and food', 'Medicine, drugs, fitness, nutrition and recipes', [
    'look up a drug',
    'log a workout',
    'find a recipe',
  ]),
  skill('education', 'Education', 'Courses, lessons, quizzes, students and learning', [
    'list assignments',
    'grade a submission',
    'create flashcards',
  ]),
  skill('jobs_and_people', 'Jobs and people', 'Employees, hiring, job offers, candidates, leave and payroll', [
    'search jobs',
    'list employees',
    'request time off',
  ]),
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
    'HTTP requests, webhooks, workflows, API specifications and connectors',
    ['send an http request', 'create a workflow', 'register a webhook'],
  ),
  skill(
    'time_and_math',
    'Time, numbers and utilities',
    'Calculation, units, dates, time zones, random values and encoding',
    ['convert units', 'current time in a zone', 'evaluate an expression'],
  ),
];

function skill(id: string, name: string, description: string, examples: string[]): Skill {
  return { id, name, description, examples };
}

/** The text that stands for a skill in the vector space while it has no tools. */
export function toSkillText({ name, description, examples }: Skill): string {
  return `${name}. ${description}. ${examples.join(', ')}`;
}
