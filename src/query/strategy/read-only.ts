/** Decides whether a query may call a tool: only if it is read-only. */

export interface ReadTraits {
  name: string;
  title?: string;
  description?: string;
  annotations?: { readOnlyHint?: boolean; destructiveHint?: boolean };
}

type ReadOnlyVerdict = { reads: true } | { reads: false; reason: string };

const toSet = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));

const readVerbs = toSet(
  'search find get list lookup resolve read query fetch show describe browse retrieve view recall count check ' +
    'inspect enumerate explore summarize summarise compare grep look locate discover scan peek tail head cat stat diff ' +
    'blame analyze analyse calculate compute filter select',
);

/** What makes another verb of them: "check out", "get rid of". */
const particles = toSet('in out off rid over away');
const shownToPeople = toSet('notification toast dialog alert popup message banner notice prompt');
const identifiers = toSet(
  'id ids name names url uri path library dns host hostname address symbol user package domain reference handle alias',
);

/** A read verb at this place of a name that nothing after it turns into an act: "check_out", "show_toast", "resolve_issue". */
function readsAt(words: readonly string[], at: number): boolean {
  const verb = words[at] ?? '';
  if (!readVerbs.has(verb)) return false;
  const rest = words.slice(at + 1);
  if (particles.has(rest[0] ?? '')) return false;
  if (verb === 'show') return !rest.some((word) => shownToPeople.has(word));
  return verb !== 'resolve' || rest.some((word) => identifiers.has(word));
}

/** They change something wherever a verb can stand, and are nothing but verbs. */
const writeVerbs = toSet(
  'create update delete remove write send add insert upsert edit modify rename replace append pay purchase buy ' +
    'execute exec eval evaluate deploy publish upload install uninstall merge commit approve reject cancel ' +
    'subscribe unsubscribe grant revoke reset kill drop truncate clear save submit reply invite assign unassign ' +
    'enable disable trigger destroy erase overwrite terminate transfer refund withdraw deposit register schedule ' +
    'move copy import export sync wipe purge restore rollback mutate increment mark toggle invoke launch spawn ' +
    'generate apply set put patch start stop restart run close connect disconnect download attach detach reserve ' +
    'book checkout pin unpin archive unarchive lock unlock rotate rebuild reindex migrate seed init initialize ' +
    'initialise stage unstage push pull rebase cherry revert forward mute unmute snooze dismiss acknowledge ack ' +
    'escalate transition dispose ship respond react sign login logout switch accept decline empty trash discard ' +
    'eject order roll hand give take vote dispatch feed charge bill reroute void enhance trim extract compress ' +
    'define configure manage',
);

/** Names that end so, or begin as a question does, tell what is returned: "channelHistory", "whosOnCall". */
const readNouns = toSet(
  'history status list schedule summary catalog catalogue overview report details info information stats statistics ' +
    'balance calendar agenda inventory hours feed timeline directory availability forecast metrics usage quota version ' +
    'changelog leaderboard prices rates contents content results entries reading readings records listing index menu ' +
    'timetable roster rota weather news standings ranking scores bulletin board documentation docs manual guide faq ' +
    'glossary minutes opening arrivals departures tariff fees quotes holdings',
);
const questionWords = toSet('who whos what whats which where when how is are has does');

/** Also nouns or participles: "get_order", "log_search", "open_nodes". A change only where they lead, without a reader beside them. */
const ambiguousVerbs = toSet(
  'report return display ask issue file text page ping print post order run set put patch start stop restart ' +
    'close open call comment star fork push pull charge store archive lock unlock like follow block vote tag ' +
    'label release build test type fill press play pause record log mail email message notify book commit import ' +
    'export copy schedule register transfer deposit refund purchase merge stage forward pin mark reply invite ' +
    'checkout download branch deploy install update share draft note plan process handle extract define bill ' +
    'feed ship seed react trash',
);

/** Of these, those that hardly ever stand for a thing where they lead: "update_list", "mark_as_read" are acts. */
const plainVerbs = toSet('update set put start stop restart close mark copy notify unlock pin reply invite pause run');

/** Reading verbs that are things as well: "share_list" is a list, or an act. */
const readThings = toSet('list view query filter scan count check read look head tail stat diff cat');

/** They act on a live browser, device or session: what they see is not knowledge, and looking changes it. */
const liveVerbs = toSet(
  'navigate click hover wait tap swipe scroll drag press type fill focus goto screenshot snapshot capture launch attach ' +
    'emulate resize hold speak listen dial vibrate reload refresh',
);
const liveObjects = toSet('browser tab tabs mouse keyboard cursor dialog webpage viewport');
/** What opens on a screen or in a house. "open_nodes" only looks something up. */
const openedLive = toSet('url link website site app application window session door gate valve');
const browserActions = toSet('navigate click hover tap swipe press goto');

/** `prefixes` are words that the server puts before its names. */
export function judgeReadOnly(tool: ReadTraits, prefixes: ReadonlySet<string> = new Set()): ReadOnlyVerdict {
  const { readOnlyHint, destructiveHint } = tool.annotations ?? {};
  if (readOnlyHint === false) return no('its annotation says that it writes');
  // The specification gives `destructiveHint` a meaning only where the tool is not read-only.
  if (destructiveHint === true && readOnlyHint !== true) return no('its annotation says that it is destructive');
  const all = nameWords(tool.name);
  const words = all.length > 1 && prefixes.has(all[0] ?? '') ? all.slice(1) : all;
  if (actsLive(words)) return no('it acts on a live browser, device or session');
  const verb = verbOf(words);
  if (isClear(verb) || (verb.kind === 'writes' && readOnlyHint !== true))
    return no(`its name implies that it changes something ("${verb.word}")`);
  if (readOnlyHint === true) return { reads: true };
  const said = judgeDescription(tool.description ?? '', readsAt(words, 0));
  if (said === 'writes') return no('its description says that it changes something');
  const isRecord =
    verb.kind === 'ambiguous' &&
    records.has(words.at(-1) ?? '') &&
    /^\W*[a-z]+s \w+(?:ed|en|ing)\b/i.test(tool.description ?? '');
  return verb.kind === 'reads' || said === 'reads' || isRecord
    ? { reads: true }
    : no('nothing says that it only reads');
}

/** "airplay_log: Tracks played between two dates". */
const records = toSet('log logs record records report history schedule list order orders post posts');

/** Does a name clearly say that something is changed? */
export function changes(words: readonly string[]): boolean {
  const verb = verbOf(words);
  return actsLive(words) || isClear(verb);
}

/** Does a name say that it only reads? */
export const readsByName = (words: readonly string[]): boolean => verbOf(words).kind === 'reads' && !actsLive(words);

const isClear = ({ kind, word }: Verb): boolean =>
  kind === 'writes' && (!ambiguousVerbs.has(word) || plainVerbs.has(word));

/** A server with tools that navigate and click is a remote control: nothing on it is read for a question. */
export function isRemoteControl(tools: readonly ReadTraits[]): boolean {
  const actions = new Set(tools.flatMap(({ name }) => nameWords(name).filter((word) => browserActions.has(word))));
  return actions.size >= 2;
}

const no = (reason: string): ReadOnlyVerdict => ({ reads: false, reason });

function actsLive(words: readonly string[]): boolean {
  if (words.some((word) => liveObjects.has(word))) return true;
  const [first = '', second = ''] = words;
  if (first === 'open' && words.some((word) => openedLive.has(word))) return true;
  return liveVerbs.has(first) || (words.length > 1 && liveVerbs.has(second) && !readVerbs.has(first));
}

const knownNames = new Map<string, readonly string[]>();
const maxKnownNames = 5_000;

/** `getLibraryDocs`, `get-library-docs`, `get_library_docs` → get, library, docs. Names repeat, so each is split once. */
export function nameWords(name: string): readonly string[] {
  const known = knownNames.get(name);
  if (known !== undefined) return known;
  const words = splitName(name);
  if (knownNames.size >= maxKnownNames) knownNames.clear();
  if (name.length <= maxNameChars) knownNames.set(name, words);
  return words;
}

/** Longer ones are no names. */
const maxNameChars = 500;

function splitName(name: string): string[] {
  return name
    .slice(0, maxNameChars)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

interface Verb {
  kind: 'reads' | 'writes' | 'ambiguous' | 'none';
  word: string;
}

const joiners = new Set(['and', 'or', 'then']);

/** The verb leads the name ("create_issue"), follows a prefix ("slack_post_message") or ends it ("order_lookup"). */
function verbOf(words: readonly string[]): Verb {
  const joined = words.find(
    (word, at) => at > 0 && joiners.has(words[at - 1] ?? '') && (writeVerbs.has(word) || ambiguousVerbs.has(word)),
  );
  if (joined !== undefined) return { kind: 'writes', word: joined };
  const [first = '', second = '', third = ''] = words;
  const last = words.at(-1) ?? '';
  // "check_and_fix": what is joined to the verb is one, known or not.
  if (joiners.has(second) && !readVerbs.has(third)) return { kind: 'ambiguous', word: third };
  if (readsAt(words, 0)) return { kind: writesLater(words.slice(1)) ?? 'reads', word: writeWordIn(words) ?? first };
  if (readVerbs.has(first)) return { kind: 'ambiguous', word: first };
  const readsLater = readsAt(words, 1) ? second : readsAt(words, words.length - 1) ? last : undefined;
  if (runs.has(first) && words.some((word) => asked.has(word))) return { kind: 'ambiguous', word: first };
  if (writeVerbs.has(first) && !ambiguousVerbs.has(first)) return { kind: 'writes', word: first };
  if (plainVerbs.has(first) && words.length > 1) return { kind: 'writes', word: first };
  // "trello_create_list": the verb before the thing, not the thing.
  const inside = words.slice(1, -1).find((word) => isClear({ kind: 'writes', word }) && writeVerbs.has(word));
  if (inside !== undefined && readsLater === last) return { kind: 'writes', word: inside };
  if (readsLater !== undefined)
    return { kind: ambiguousVerbs.has(first) && readThings.has(readsLater) ? 'ambiguous' : 'reads', word: readsLater };
  // "issue_delete": the thing leads, the verb ends.
  if (words.length > 1 && writeVerbs.has(last) && !ambiguousVerbs.has(last)) return { kind: 'writes', word: last };
  // "order_status", "build_report": the description tells.
  if (ambiguousVerbs.has(first))
    return { kind: words.length > 1 && !readNouns.has(last) ? 'writes' : 'ambiguous', word: first };
  const later = [second, last].find((word) => writeVerbs.has(word));
  // "theatre_schedule" is a thing or an act: its description tells.
  if (later !== undefined)
    return { kind: readNouns.has(later) || ambiguousVerbs.has(later) ? 'ambiguous' : 'writes', word: later };
  if (questionWords.has(first)) return { kind: 'reads', word: first };
  const perhaps = [second, last].find((word) => ambiguousVerbs.has(word));
  if (perhaps !== undefined) return { kind: 'ambiguous', word: perhaps };
  const isThing = readNouns.has(last) || namesThings(words) || hasQuality(words);
  return isThing ? { kind: 'reads', word: last } : { kind: 'none', word: '' };
}

/** "execute_query", "run_search": what is run asks; its annotation or description tells whether it only does so. */
const runs = toSet('execute exec run perform invoke');
const asked = toSet('query queries search lookup select report');

/** "arrivals", "jobs_of_customer", "deliveriesForDay": a plural is no command. */
function namesThings([first = '', second, third]: readonly string[]): boolean {
  const isPlural = /[^su]s$/.test(first) && first.length > 3;
  if (!isPlural || second === undefined) return isPlural;
  // "lights_on" switches them.
  if (third === undefined && turns.has(second)) return false;
  return thingPrepositions.has(second) || /ing$/.test(second);
}

/** "recent_changes", "current_user": a quality of what is returned. */
const qualities = toSet('recent latest current upcoming available all my top active');
const turns = toSet('on off up down in out');
const hasQuality = ([first = '', second]: readonly string[]): boolean =>
  qualities.has(first) && second !== undefined && !turns.has(second);

const thingPrepositions = toSet('of for by between in on at from with near per since until');

/** "search_and_replace" is caught before; "find_or_create" too. "get_created_items" only reads. */
function writesLater(words: readonly string[]): 'writes' | undefined {
  return words.some((word) => unmistakable.has(word)) ? 'writes' : undefined;
}

const unmistakable = toSet('create delete remove replace upsert overwrite erase truncate destroy');
const writeWordIn = (words: readonly string[]): string | undefined => words.find((word) => unmistakable.has(word));

/**
 * The first sentence tells what a tool does; later ones warn, advise and name other tools. A later sentence counts only
 * where the tool itself is its subject: "Creates the user if there is none."
 */
function judgeDescription(description: string, isNamedReader: boolean): 'reads' | 'writes' | 'unclear' {
  const [first = '', ...later] = sentencesOf(description.slice(0, judgedChars));
  const opening = judgeSentence(first, true, isNamedReader);
  if (opening === 'writes') return 'writes';
  return later.some((sentence) => judgeSentence(sentence, false, isNamedReader) === 'writes') ? 'writes' : opening;
}

const judgedChars = 2_000;

function sentencesOf(text: string): string[] {
  return text
    .split(/[.!?;](?:\s|$)|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}

const readsOnly =
  /\bread[- ]?only\b(?! mode)|\bselect (?:quer|statement|sql)|^(?:run|execute|perform)s? (?:an? |the )?(?:(?!(?:insert|update|delete|write|create|drop|alter|merge)\b)[\w-]+ ){0,3}(?:query|queries|search|lookup|find)\b/i;
const leavesAlone = /\bwithout (?:modifying|changing)\b/i;
/** They make something of what was read. */
const mildVerbs = toSet('extract generate trim compress define enhance evaluate export apply');
const purposes = toSet('to for by using enabling allowing via with');
const beforeObject = toSet('the a an it them this that these those your all any one new each every');

function judgeSentence(sentence: string, isFirst: boolean, isNamedReader: boolean): 'reads' | 'writes' | 'unclear' {
  if (isFirst && readsOnly.test(sentence)) return 'reads';
  const words = sentence.toLowerCase().match(/[a-z]+/g) ?? [];
  if (isFirst && isNounPhrase(words)) return 'reads';
  const subject = /^(?:this tool|the tool|it|this|tool)\b/i.test(sentence)
    ? words.findIndex((word) => isVerb(thirdPerson(word)))
    : 0;
  const lead = words[Math.max(0, subject)] ?? '';
  const base = thirdPerson(lead);
  // "Tests that failed", "Extract the front matter": a tool that is named a reader is judged by clear words only.
  const isNoun = isNamedReader && (ambiguousVerbs.has(base) || mildVerbs.has(base));
  const leads = !isNoun && (lead !== base || isFirst) ? kindOf(base, words[Math.max(0, subject) + 1]) : 'unclear';
  if (isFirst && leavesAlone.test(sentence) && (leads !== 'writes' || runs.has(base))) return 'reads';
  if (leads === 'writes') return 'writes';
  if (!isFirst) return 'unclear';
  // What a tool is good for ("to manage and edit tasks") is not what it does.
  const done = words.slice(0, words.findIndex((word, at) => at > 0 && purposes.has(word)) >>> 0);
  const also = done.some(
    (word, at) => joiners.has(done[at - 1] ?? '') && joinedWrites(thirdPerson(word), done[at + 1]),
  );
  return also ? 'writes' : leads;
}

const relatives = toSet('of that who which whose');
const thingOpeners = toSet('all the current recent latest every upcoming available number overview');
const determiners = toSet('a an the all any your this it them one');

/** "Messages of a channel", "People who are away", "Who is on call": what is returned, not what is done. */
function isNounPhrase(words: readonly string[]): boolean {
  const [first = ''] = words;
  if (questionWords.has(first) || thingOpeners.has(first)) return true;
  // "Pages of the wiki": what is followed by "of" is no order, unless it disposes of something.
  if (
    words[1] === 'of' &&
    !(writeVerbs.has(thirdPerson(first)) && !ambiguousVerbs.has(thirdPerson(first))) &&
    !namesAnAct(first)
  )
    return true;
  if (isVerb(thirdPerson(first)) || ambiguousVerbs.has(thirdPerson(first)) || namesAnAct(first)) return false;
  if (prepositions.has(words[1] ?? '') && !liveVerbs.has(thirdPerson(first))) return true;
  const relative = words.slice(1, 5).findIndex((word) => relatives.has(word));
  const determiner = words.slice(1, 5).findIndex((word) => determiners.has(word));
  return relative >= 0 && (determiner < 0 || relative < determiner);
}

const prepositions = toSet('of per in for between at from during by on with');

/** "Deletion of a record", "Payment of an invoice". */
function namesAnAct(noun: string): boolean {
  if (!/(?:tion|sion|ment|al|ance|ing|ure)$/.test(noun)) return false;
  return [...writeVerbs].some(
    (verb) => verb.length > 3 && noun.startsWith(verb.slice(0, Math.max(4, verb.length - 2))),
  );
}

const isVerb = (word: string): boolean => saysReads(word) || writeVerbs.has(word);

/** "Returns the orders", "Displays a note": as the name of a tool, such a verb may be an act. */
const answerVerbs = toSet('return display provide output report print');
const saysReads = (verb: string): boolean => readVerbs.has(verb) || answerVerbs.has(verb);

function kindOf(verb: string, next: string | undefined): 'reads' | 'writes' | 'unclear' {
  if (saysReads(verb)) return 'reads';
  if (writeVerbs.has(verb) && !ambiguousVerbs.has(verb)) return 'writes';
  return ambiguousVerbs.has(verb) && beforeObject.has(next ?? '') ? 'writes' : 'unclear';
}

/** "Get a token and charge the card" against "List commits and tags". */
function joinedWrites(verb: string, next: string | undefined): boolean {
  if (saysReads(verb)) return false;
  if (ambiguousVerbs.has(verb)) return beforeObject.has(next ?? '');
  return writeVerbs.has(verb);
}

/** "searches" → search, "deletes" → delete. Participles ("deleted items") stay as they are. */
function thirdPerson(word: string): string {
  if (/(?:ch|sh|ss|x)es$/.test(word)) return word.slice(0, -2);
  if (/[^aeiou]ies$/.test(word)) return `${word.slice(0, -3)}y`;
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}
