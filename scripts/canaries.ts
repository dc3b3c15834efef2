/**
 * `npm run canaries`: secrets are planted in every field of every configuration, servers print them in every way, and
 * everything that leaves the aggregator or stays on its disk is searched for them. Exit code 1 where one is found.
 */
import { runCanaries, type Search } from '../test/security/canaries.ts';

const printedAs = [
  'whole, in two chunks, after 185 and 490 other characters',
  'as JSON, percent-encoded, base64, base64 behind a user name, hex; a PEM line by line',
];
const printedIn = [
  'stdout and stderr at the start and before an exit; instructions, server info',
  'titles, descriptions, defaults and examples of tools, prompts, resources and templates',
  'tool errors, JSON-RPC errors with data, HTTP error pages, cut connections, OAuth errors',
  'log notifications and progress messages',
];

const closers: (() => Promise<void>)[] = [];
try {
  const { planted, searched } = await runCanaries((close) => closers.push(close));
  console.log(`| planted in (${planted.length}) |\n|---|`);
  for (const where of planted) console.log(`| ${where} |`);
  console.log('\n| printed |\n|---|');
  for (const how of [...printedAs, ...printedIn]) console.log(`| ${how} |`);
  console.log('\n| searched | texts | characters | found |\n|---|--:|--:|--:|');
  for (const [place, texts] of Object.entries(Object.groupBy(searched, ({ where }) => placeOf(where)))) {
    console.log(`| ${place} | ${texts?.length} | ${charsIn(texts)} | ${foundIn(texts)} |`);
  }
  const leaks = searched.flatMap(({ where, found }) => found.map((one) => `${where}: ${one.planted}`));
  console.log(`\nfound: ${leaks.length}`);
  for (const leak of leaks) console.log(leak);
  process.exitCode = leaks.length === 0 ? 0 : 1;
} finally {
  for (const close of closers) await close();
}

/** The pages of all servers are one line. */
function placeOf(where: string): string {
  return where
    .replace(/^the (MCP )?answer of (\w+)\..*/, 'the $1answers of $2')
    .replace(/\/servers\/[\w-]+/, '/servers/{id}');
}

function charsIn(texts: readonly Search[] = []): number {
  return texts.reduce((total, text) => total + text.chars, 0);
}

function foundIn(texts: readonly Search[] = []): number {
  return texts.reduce((total, { found }) => total + found.length, 0);
}
