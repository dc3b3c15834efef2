import { random } from '../test/query/random.ts';

/** A document of the collection, and how well it answers each query that it answers at all. */
export interface Document {
  id: string;
  title: string;
  content: string;
}

export interface JudgedQuery {
  text: string;
  /** Document id → 3 it is about this, 1 it says something about this. */
  grades: Map<string, number>;
  /** What is said about it anywhere. */
  sentences: readonly string[];
}

export interface Collection {
  documents: Document[];
  queries: JudgedQuery[];
}

const products =
  'Marlin Osprey Juniper Basalt Cobalt Tundra Saffron Quill Harbor Lantern Meadow Granite Falcon Willow Ember Nimbus Pebble Raven Sorrel Thistle Umber Velvet Walnut Yarrow Zephyr Anvil Bramble Cinder Drift Fjord'.split(
    ' ',
  );

interface Aspect {
  name: string;
  asked: string[];
  sentences: string[];
}

/** Own text: what documentation of a program library talks about, in several wordings, none of them taken from one. */
const aspects: Aspect[] = [
  aspect(
    'installation',
    ['install', 'set up on a new machine'],
    'Install the package with the package manager and check the version it prints.|The installer needs about forty megabytes and no administrator rights.|On a machine without a network, copy the archive and install from the local file.|Setting up takes one command, removing it takes another.',
  ),
  aspect(
    'retries',
    ['retry failed requests', 'repeat a request after an error'],
    'A failed request is retried three times with a growing pause.|Retries apply to idempotent requests only, because repeating a payment would be wrong.|The pause between attempts doubles and gets a random share added.|Set the attempt count to zero to switch retrying off.',
  ),
  aspect(
    'caching',
    ['cache responses', 'keep answers in memory to save time'],
    'Responses are cached in memory until their age limit is reached.|The cache evicts the entry that was used least recently.|A cached answer is served while a fresh one is fetched in the background.|Cache keys contain the address, the method and the language.',
  ),
  aspect(
    'authentication',
    ['log in with a token', 'authenticate users'],
    'Every request carries a token that the login endpoint issued.|Tokens expire after an hour and are renewed with the refresh token.|Authentication failures answer with status 401 and never say which part was wrong.|Passwords are stored as salted hashes, never as text.',
  ),
  aspect(
    'pagination',
    ['page through long lists', 'fetch the next page of results'],
    'Long lists come in pages of fifty entries.|The cursor in the answer asks for the next page and stays valid for a day.|Page numbers are not offered because entries move while somebody reads.|An empty cursor means that the list has ended.',
  ),
  aspect(
    'logging',
    ['configure log output', 'change the log level'],
    'Log lines are JSON objects with a level, a time and a message.|The log level can be changed while the process runs.|Secrets are replaced before a line is written.|Rotating files is left to the operating system.',
  ),
  aspect(
    'timeouts',
    ['set a timeout', 'limit how long a call may take'],
    'A call that takes longer than its timeout is aborted.|The timeout covers connecting, sending and reading together.|Slow uploads need a longer limit than the default of thirty seconds.|After a timeout the connection is closed, not reused.',
  ),
  aspect(
    'testing',
    ['write unit tests', 'test code without a network'],
    'Unit tests run against an in-memory server that records what it was asked.|Fixtures are plain files next to the test.|A test clock moves time forward without waiting.|Run the tests in parallel unless they share a port.',
  ),
  aspect(
    'deployment',
    ['deploy to production', 'run in a container'],
    'The container image starts as an unprivileged user.|Deploy two copies behind a balancer and restart one at a time.|Readiness is reported once the first connection works.|Configuration comes from the environment, so one image fits every stage.',
  ),
  aspect(
    'streaming',
    ['stream large files', 'read a response piece by piece'],
    'Large bodies are streamed and never held in memory as a whole.|Reading pauses when the consumer is slower than the network.|A stream that is abandoned must be cancelled to free its socket.|Chunks arrive in order, their size is not guaranteed.',
  ),
  aspect(
    'transactions',
    ['use transactions', 'roll back several changes together'],
    'Changes inside a transaction become visible together or not at all.|A conflict rolls the transaction back and reports which row was to blame.|Keep transactions short, locks are held until they end.|Nested transactions are savepoints underneath.',
  ),
  aspect(
    'migrations',
    ['migrate the schema', 'change the database layout between versions'],
    'Migrations run in order of their number, each exactly once.|A migration that fails leaves the schema as it was.|Never edit a migration that has been released, write another one.|The table of applied migrations tells which version a database has.',
  ),
  aspect(
    'encryption',
    ['encrypt stored data', 'protect data at rest'],
    'Stored values are encrypted with a key that never leaves the process.|Rotating the key re-encrypts values the next time they are written.|Each value has its own nonce, two equal values look different.|Losing the key means losing the data.',
  ),
  aspect(
    'scheduling',
    ['schedule background jobs', 'run a task every night'],
    'Jobs are scheduled with a line of five fields or an interval.|A job that is still running is not started a second time.|Missed runs are made up for once after a restart.|Every run is recorded with its start, end and result.',
  ),
  aspect(
    'search',
    ['full text search', 'find documents by words'],
    'The index is updated as soon as a document is stored.|Words are reduced to their stem, so singular and plural match.|Results are ordered by how rare the matching words are.|Phrases in quotation marks must occur exactly.',
  ),
  aspect(
    'webhooks',
    ['receive webhooks', 'get notified when something changes'],
    'A webhook is sent as soon as something changes and repeated until it is acknowledged.|The signature header proves that the sender knows the shared secret.|Deliveries may arrive twice, the event number tells.|Answer quickly and do the work afterwards.',
  ),
  aspect(
    'permissions',
    ['restrict permissions', 'decide who may change what'],
    'Permissions belong to roles, and people have roles.|What is not allowed is forbidden.|A role can be limited to one project.|Changes of permissions take effect with the next request.',
  ),
  aspect(
    'metrics',
    ['export metrics', 'monitor latency and errors'],
    'Metrics are offered in text form at one address.|Latency is counted in buckets so that percentiles can be computed.|Labels must not hold user names, every value costs memory.|Alerts should watch the share of errors, not their number.',
  ),
  aspect(
    'localization',
    ['translate messages', 'show dates in the local format'],
    'Messages are looked up by key and language.|A missing translation falls back to English and is reported once.|Dates and numbers follow the locale of the reader, not of the server.|Plural forms differ, some languages have six.',
  ),
  aspect(
    'websockets',
    ['open a websocket', 'keep a live connection to the browser'],
    'A websocket is opened by upgrading an ordinary request.|Pings every thirty seconds keep middle boxes from closing it.|Messages sent while disconnected are queued up to a limit.|One connection carries many channels.',
  ),
  aspect(
    'validation',
    ['validate input', 'check data before storing it'],
    'Input is validated against a schema before anything else sees it.|Every problem is reported with the path of the field.|Unknown fields are refused, they are usually typing errors.|Numbers in text form are not converted silently.',
  ),
  aspect(
    'uploads',
    ['upload files', 'accept pictures from users'],
    'Uploads go to a temporary file first and are moved when complete.|The type is decided from the content and not from the name.|Files above the limit are refused before they are read.|Interrupted uploads continue where they stopped.',
  ),
  aspect(
    'rate limiting',
    ['limit the request rate', 'stop clients that ask too often'],
    'Each client may send a hundred requests a minute.|The limit refills steadily instead of all at once.|A refused request is told how many seconds to wait.|Counters are shared between all copies of the service.',
  ),
  aspect(
    'plugins',
    ['write a plugin', 'extend the program with own code'],
    'A plugin is a function that receives the host and registers what it adds.|Plugins load in the order of their dependencies.|A plugin cannot see what another one keeps private.|Errors inside a plugin name it.',
  ),
  aspect(
    'backups',
    ['make a backup', 'restore lost data'],
    'A backup is consistent even while writes go on.|Restore into an empty directory and compare the counts.|Keep one copy on another machine.|Backups that were never restored are only hopes.',
  ),
  aspect(
    'concurrency',
    ['run tasks concurrently', 'use several processor cores'],
    'Work is spread over as many workers as there are cores.|Workers share nothing and exchange messages.|The number of tasks in flight is bounded.|A worker that dies is replaced and its task is given to another.',
  ),
  aspect(
    'errors',
    ['handle errors', 'find out why a call failed'],
    'Errors carry a code that programs read and a message for people.|The cause of an error is attached and not lost.|Unexpected errors end the process, somebody restarts it.|Do not decide by the text of a message.',
  ),
  aspect(
    'routing',
    ['define routes', 'map addresses to handlers'],
    'Routes are matched by method and path, the most specific first.|Parameters in the path are named and typed.|Two routes that cannot be told apart are refused at the start.|A prefix groups routes that share a check.',
  ),
  aspect(
    'serialization',
    ['serialize objects', 'turn records into JSON'],
    'Records are written as JSON with fields in a fixed order.|Dates are written in universal time.|Large integers are written as text, or readers would round them.|Fields without a value are left out.',
  ),
  aspect(
    'dependencies',
    ['upgrade dependencies', 'update to the next major version'],
    'Upgrade one major version at a time and read its notes.|The lock file makes every machine install the same versions.|Deprecated functions warn for one version before they go.|Unused dependencies are reported by the audit command.',
  ),
];

const openings = [
  'This page explains {aspect} in {product}.',
  '{product} handles {aspect} out of the box.',
  'What you should know about {aspect} when you work with {product}.',
  'A guide to {aspect} for people who use {product} every day.',
  'Notes on {aspect}, written for {product} version 4.',
];
const fillers = [
  'Most teams never need to change the defaults.',
  'The examples below can be copied as they are.',
  'Older versions behaved differently here.',
  'Measure before and after, the difference is often small.',
  'The reference lists every option in alphabetical order.',
  'If in doubt, start with the simplest form.',
  'This has been stable for several years.',
  'Feedback from users shaped most of this.',
  'There is a short video for those who prefer watching.',
  'The source code is the final authority.',
];

/** 30 products × 30 aspects + 300 overviews = 1,200 documents; 90 queries. The same every time. */
export function makeCollection(): Collection {
  const next = random(2026);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] ?? (list[0] as T);
  const documents: Document[] = [];
  const about = new Map<string, Map<string, number>>();
  const judge = (product: string, name: string, id: string, grade: number): void => {
    const key = `${product}/${name}`;
    const grades = about.get(key) ?? new Map<string, number>();
    grades.set(id, Math.max(grade, grades.get(id) ?? 0));
    about.set(key, grades);
  };
  const shuffled = <T>(list: readonly T[]): T[] =>
    list
      .map((value) => ({ value, key: next() }))
      .toSorted((a, b) => a.key - b.key)
      .map(({ value }) => value);

  for (const product of products) {
    for (const main of aspects) {
      const id = `${product}-${main.name}`.toLowerCase().replaceAll(' ', '-');
      const side = pick(aspects);
      const other = pick(products);
      const paragraphs = [
        pick(openings).replace('{aspect}', main.name).replace('{product}', product),
        shuffled([...main.sentences, pick(fillers), pick(fillers)]).join(' '),
        `In ${product} this also touches ${side.name}. ${pick(side.sentences)} ${pick(fillers)}`,
        `Compared with ${other}, ${pick(fillers).toLowerCase()} ${pick(main.sentences)}`,
        `Command: ${product.toLowerCase()} ${main.name.split(' ')[0]} --profile p${Math.floor(next() * 1000)}`,
      ];
      documents.push({ id, title: `${product}: ${main.name}`, content: paragraphs.join('\n\n') });
      judge(product, main.name, id, 3);
      judge(product, side.name, id, 1);
    }
    for (let i = 0; i < 10; i++) {
      const id = `${product}-overview-${i}`.toLowerCase();
      const some = shuffled(aspects).slice(0, 3);
      const paragraphs = some.map(
        ({ name, sentences }) => `${product} and ${name}: ${pick(sentences)} ${pick(fillers)}`,
      );
      documents.push({
        id,
        title: `${product} overview, part ${i + 1}`,
        content: [pick(fillers), ...paragraphs].join('\n\n'),
      });
      for (const { name } of some) judge(product, name, id, 1);
    }
  }
  const queries = products.flatMap((product, p) =>
    [0, 1, 2].map((q) => {
      const { name, asked, sentences } = aspects[(p * 7 + q * 11) % aspects.length] ?? pick(aspects);
      const words = asked[q % asked.length] ?? name;
      const text = q === 2 ? `${product} ${name}` : `How do I ${words} with ${product}?`;
      return { text, grades: about.get(`${product}/${name}`) ?? new Map<string, number>(), sentences };
    }),
  );
  return { documents, queries };
}

function aspect(name: string, asked: string[], sentences: string): Aspect {
  return { name, asked, sentences: sentences.split('|') };
}
