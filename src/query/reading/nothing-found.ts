/** Answers that say that there is nothing. They are not results. */
import type { ParsedAnswer } from './answer.ts';

const shortAnswer = 400;

/** Empty lists, counts of zero, and short texts that say no. `input` is what was asked for; servers like to repeat it. */
export function isNothingFound(answer: ParsedAnswer, input = ''): boolean {
  const texts: string[] = [];
  for (const part of answer.parts) {
    if (part.kind === 'link' || part.kind === 'binary') return false;
    if (part.kind === 'text') texts.push(part.text);
    else if (
      part.groups.some(({ records }) => records.some((record) => saysSomething(record, input))) ||
      saysMoreThanCounts(part.envelope)
    ) {
      const only = onlyNote(part, input);
      if (only === undefined) return false;
      texts.push(only);
    }
  }
  const text = texts.join('\n').trim();
  if (text === '') return true;
  const plain = withoutLabels(withoutInput(text, input));
  return (text.length <= shortAnswer && saysNo(plain)) || saysNoAgainAndAgain(plain);
}

type Records = Extract<ParsedAnswer['parts'][number], { kind: 'records' }>;

/** `{commits: [], note: "No commits matched"}`: one text and nothing else. */
function onlyNote({ groups }: Records, input: string): string | undefined {
  const records = groups.flatMap((group) => group.records).filter((record) => saysSomething(record, input));
  const [note] = records;
  if (records.length !== 1 || typeof note !== 'object' || note === null) return undefined;
  const values = Object.values(note).filter((value) => value !== 0 && value !== '' && value !== null);
  const texts = values.filter((value) => typeof value === 'string');
  return texts.length === 1 && values.length === 1 ? texts[0] : undefined;
}

/** A row that holds nothing but a count of zero says that nothing was found. */
const isZeroCount = (record: object): boolean => {
  const values = Object.values(record);
  return (
    values.length === 1 &&
    (values[0] === 0 || values[0] === null) &&
    /count|number|total|sum|average/i.test(Object.keys(record)[0] ?? '')
  );
};

/** `{ok: false, error: "not_found", id: "T-99"}`: an error that was not marked as one. A failed job is a fact. */
function isErrorRecord(entries: readonly EnvelopeField[], saying: readonly EnvelopeField[], input: string): boolean {
  const failed = entries.some(
    ([key, value]) =>
      (/^(?:ok|success)$/i.test(key) && value === false) ||
      (/^(?:error|error_?code|errors)$/i.test(key) && isSaid(value)),
  );
  if (!failed) return false;
  const said = entries.filter(([key]) => errorKeys.test(key)).map(([, value]) => JSON.stringify(value));
  const known = `${said.join(' ')} ${input}`.toLowerCase();
  return saying.every(([key, value]) => isErrorDetail(key, value, known));
}

const errorKeys =
  /^(?:ok|success|error\w*|code|status(?:_?code)?|message|msg|reason|details?|hint|type|timestamp|request_?id)$/i;
const echoedKeys = /^(?:id|key|uri|url|path|query|q|input|tool)$/i;

/** More about the error, or what was asked for. */
function isErrorDetail(key: string, value: unknown, known: string): boolean {
  if (typeof value !== 'string') return errorKeys.test(key) || echoedKeys.test(key);
  if (value.length > 200) return false;
  return errorKeys.test(key) || echoedKeys.test(key) || known.includes(value.toLowerCase());
}

const isSaid = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** Each value is looked at once: errors inside of errors would double the work with every level. */
function saysSomething(record: unknown, input: string, depth = 0): boolean {
  if (record === null || record === undefined || record === '') return false;
  if (typeof record !== 'object' || depth > maxDepth) return true;
  if (isZeroCount(record)) return false;
  const entries: EnvelopeField[] = Object.entries(record);
  const saying = entries.filter(([, value]) => saysSomething(value, input, depth + 1));
  return saying.length > 0 && !isErrorRecord(entries, saying, input);
}

type EnvelopeField = [key: string, value: unknown];

const maxDepth = 12;

/** `{total: 0, query: "…", took: 3}` says nothing; `{answer: "…"}` does. */
function saysMoreThanCounts(envelope: Record<string, unknown>): boolean {
  return Object.entries(envelope).some(
    ([key, value]) =>
      typeof value === 'string' && value.length > 60 && !/message|query|error|hint|note|info/i.test(key),
  );
}

function withoutInput(text: string, input: string): string {
  return input === '' ? text : text.toLowerCase().replaceAll(input.toLowerCase(), ' ');
}

/** Headings and `**Query:** "…"` with nothing behind it say nothing about what was found. */
function withoutLabels(text: string): string {
  if (text.length > shortAnswer) return text;
  const lines = text.split('\n');
  const telling = lines.filter(
    (line) => !/^\s*#{1,6}\s/.test(line) && !/^[\s*_-]*[\w ]{1,30}[*_]*:[\s*_"'`.,?!]*$/.test(line),
  );
  return telling.some((line) => line.trim() !== '') ? telling.join('\n').trim() : text;
}

const negation =
  /\b(?:no|not|none|nothing|zero|0|empty|without|never|couldn't|could not|unable|failed to find|keine?|nichts|aucune?|rien|ning[uú]n\w*|nada|nessun\w*|niente|geen)\b/i;
const searching =
  /\b(?:found|find|match\w*|results?|hits?|records?|entries|entry|items?|rows?|data|documents?|files?|notes?|messages?|available|exists?|returned|contains?|gefunden|ergebnis\w*|treffer|trouv\w*|r[ée]sultats?|encontr\w*|resultados?|trovat\w*|risultat\w*|gevonden)\b/i;

/** One statement, and a negative one about finding. A fact that holds "no" ("There is no lift") speaks of something else. */
function saysNo(text: string): boolean {
  if (/^[\s[\](){}"'.,:;–-]*(?:null|none|nil|undefined|n\/a|empty)?[\s[\](){}"'.,:;–-]*$/i.test(text)) return true;
  // A heading over nothing, an error that was not marked as one, "No contacts."
  if (/^[^\n:]{1,60}:$/.test(text) || /^\W*(?:[\w ]{0,20}\berror|unknown|invalid|exception|traceback)\b/i.test(text))
    return true;
  if (/^no \S+(?: \S+){0,3}$/i.test(text)) return true;
  const [sentence = '', ...more] = text.split(/(?<=[.!?])\s+|\n+/).filter((part) => /\p{L}/u.test(part));
  if (sentence.length > 160 || !negation.test(sentence) || !searching.test(sentence)) return false;
  const rest = more.join(' ');
  // Advice after it ("Try other words") is short.
  return rest.length <= 80 || /^(?:try|check|please|you can|use)\b/i.test(rest);
}

const notFound = /\b(?:not|couldn't|could not|cannot be) (?:be )?found\b|\bno such\b|\bdoes not exist\b/i;

/** "Message 1: not found --- Message 2: not found": many times no is no. */
function saysNoAgainAndAgain(text: string): boolean {
  const lines = text.split('\n', maxNoLines).filter((line) => /\p{L}{3}/u.test(line));
  const negative = lines.filter((line) => line.length < 300 && notFound.test(line)).length;
  return negative > 0 && negative >= 0.8 * lines.length - 1 && (negative > 1 || text.length <= shortAnswer);
}

const maxNoLines = 400;

/** The answer without what was asked and without numbers: the same for different questions where nothing is found. */
export function skeletonOf(answer: ParsedAnswer, input: string): string | undefined {
  if (answer.receivedChars > shortAnswer) return undefined;
  const text = answer.parts
    .map((part) =>
      part.kind === 'records'
        ? JSON.stringify([part.envelope, part.groups])
        : part.kind === 'link'
          ? part.uri
          : part.text,
    )
    .join('\n');
  const plain = withoutInput(text, input).toLowerCase().replace(/\d+/g, '0').replace(/\s+/g, ' ').trim();
  return plain === '' ? undefined : plain;
}
