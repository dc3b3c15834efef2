/**
 * Recognises servers that keep state for their client (browsers, shells, debuggers, open documents) by what their tools
 * say, before the first call shows it. Pure.
 */

interface DescribedTool {
  readonly name: string;
  readonly description: string | null;
}

/** Longer texts are examples and manuals; what a tool works on stands at the beginning. */
const maxTextLength = 1_000;
const maxNameLength = 200;

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** Things that live in the process of a server, and that later calls refer to. Documents of a desktop program do not. */
const liveThings = words(
  'browser connection console context debugger dialog interpreter kernel page process repl session shell tab tabs ' +
    'terminal webpage window',
);
const definite = words('current currently active open opened loaded focused running');
const filler = words(
  'web browser chrome page active open running shell terminal debug debugging python bash interactive',
);

const openers = words('open start launch begin connect attach create init initialize');
const closers = words('close stop quit end disconnect detach kill terminate shutdown destroy');

const setters = words('change set switch');

/** Acting on what is on a screen: one such tool may be anything, several are a browser or a device. */
const gestures = words(
  'navigate goto click hover scroll type press drag tap swipe back forward reload snapshot screenshot fill',
);
const minGestures = 3;
/** A server of two hundred tools has some of these words by chance. */
const minGestureShare = 0.1;

/** Why the server is taken to keep state for its client, or undefined. */
export function findStatefulTool(tools: readonly DescribedTool[]): string | undefined {
  return findGestures(tools) ?? findOpenAndClose(tools) ?? findDirectory(tools) ?? findLiveThing(tools);
}

function findGestures(tools: readonly DescribedTool[]): string | undefined {
  const made = tools.filter(({ name }) => wordsOf(name).some((word) => gestures.has(word)));
  const distinct = new Set(made.flatMap(({ name }) => wordsOf(name).filter((word) => gestures.has(word))));
  if (distinct.size < minGestures || made.length < tools.length * minGestureShare) return undefined;
  return `its tools act on a screen: ${listed(made)}`;
}

/** `start_session` and `close_session`: what the first opens, the calls between them use. */
function findOpenAndClose(tools: readonly DescribedTool[]): string | undefined {
  const opened = new Map<string, DescribedTool>();
  for (const tool of tools) {
    const thing = thingOf(tool, openers);
    if (thing !== undefined) opened.set(thing, tool);
  }
  for (const tool of tools) {
    const thing = thingOf(tool, closers);
    const opener = thing === undefined ? undefined : opened.get(thing);
    if (opener !== undefined) return `its tools open and close something: ${listed([opener, tool])}`;
  }
  return undefined;
}

/** The live thing that a tool's name opens or closes, beside the verb; `connect` and `disconnect` stand for a connection. */
function thingOf({ name }: DescribedTool, verbs: ReadonlySet<string>): string | undefined {
  const all = wordsOf(name);
  const at = all.findIndex((word) => verbs.has(word));
  if (at === -1) return undefined;
  const last = all.at(-1) ?? '';
  const next = all[at + 1] ?? '';
  const isBeside = all.length - at === 2 || (all.length - at === 3 && filler.has(next));
  if (liveThings.has(last) && isBeside) return singular(last);
  const before = all[at - 1] ?? '';
  if (at === all.length - 1 && liveThings.has(before)) return singular(before);
  const connects = all[at] === 'connect' || all[at] === 'disconnect';
  return connects && all.length <= 2 ? 'connection' : undefined;
}

const singular = (word: string): string => (word === 'tabs' ? 'tab' : word);

/** A working directory that one call sets is where the next one runs. */
function findDirectory(tools: readonly DescribedTool[]): string | undefined {
  const setter = tools.find(({ name }) => {
    const all = wordsOf(name);
    return all.some((word) => setters.has(word)) && all.at(-1) === 'directory';
  });
  return setter === undefined ? undefined : `a tool sets the working directory: ${listed([setter])}`;
}

/** "the current page", "the active debug session", "open tabs". */
function findLiveThing(tools: readonly DescribedTool[]): string | undefined {
  const found: { tool: DescribedTool; phrase: string }[] = [];
  for (const tool of tools) {
    const phrase = livePhrase(`${wordsOf(tool.name).join(' ')}. ${tool.description ?? ''}`);
    if (phrase !== undefined) found.push({ tool, phrase });
  }
  // One mention may be an aside; a small server has no room for asides.
  const [first] = found;
  if (first === undefined || (found.length === 1 && tools.length > 3)) return undefined;
  return `${listed([first.tool])} mentions "${first.phrase}"`;
}

function livePhrase(text: string): string | undefined {
  const all = text
    .slice(0, maxTextLength)
    .toLowerCase()
    .split(/[^a-z]+/);
  for (const [at, word] of all.entries()) {
    if (!definite.has(word)) continue;
    const next = at + 1 + Number(filler.has(all[at + 1] ?? '') && liveThings.has(all[at + 2] ?? ''));
    if (liveThings.has(all[next] ?? '')) return all.slice(at, next + 1).join(' ');
  }
  return undefined;
}

const wordsOf = (name: string): string[] =>
  name
    .slice(0, maxNameLength)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '');

const listed = (tools: readonly DescribedTool[]): string =>
  tools
    .slice(0, 3)
    .map(({ name }) => name.slice(0, maxNameLength))
    .join(', ');
