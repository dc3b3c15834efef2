/** What the planner reads of a tool. */
export interface ToolTraits {
  name: string;
  description?: string;
  annotations?: { readOnlyHint?: boolean; destructiveHint?: boolean };
}

const reads = new Set(
  'search find get list lookup resolve read query fetch show describe browse retrieve view ask recall'.split(' '),
);

/** Words that mean a change wherever they stand in a name, or as a verb anywhere in a description. */
const writes = new Set(
  (
    'create update delete remove write send add insert upsert edit modify rename replace append pay purchase buy ' +
    'execute exec eval deploy publish upload install uninstall merge commit approve reject cancel subscribe ' +
    'unsubscribe grant revoke reset kill drop truncate clear save submit reply invite assign unassign enable disable ' +
    'trigger click navigate destroy erase overwrite terminate transfer refund withdraw deposit sign register ' +
    'schedule move copy import sync wipe purge restore rollback mutate increment mark toggle invoke launch spawn'
  ).split(' '),
);

/** Also nouns ("get_order", "list_runs", "a set of posts"): a change only where a verb stands. */
const writesAsVerb = new Set(
  'post order book run set put patch start stop restart close open call comment star fork push pull charge store archive lock unlock like follow block vote tag label release build test type fill press play pause record log mail email message notify'.split(
    ' ',
  ),
);

/**
 * May a tool be called without anybody having asked for that very tool? The annotation is the server's own word, so a
 * name that says otherwise outweighs it; without one, name and description must both speak of reading only.
 */
export function isReadOnly(tool: ToolTraits): boolean {
  if (tool.annotations?.readOnlyHint === false || tool.annotations?.destructiveHint === true) return false;
  const words = nameWords(tool.name);
  if (nameWrites(words)) return false;
  if (tool.annotations?.readOnlyHint === true) return true;
  const description = tool.description ?? '';
  const says = words.some((word) => reads.has(word)) || reads.has(stem(descriptionWords(description)[0] ?? ''));
  return says && !descriptionWrites(description);
}

/** `getLibraryDocs`, `get-library-docs`, `get_library_docs` → get, library, docs. */
export function nameWords(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

function nameWrites(words: string[]): boolean {
  return words.some((word, i) => {
    if (writes.has(word)) return true;
    const isVerb = i === 0 || ['and', 'or', 'then'].includes(words[i - 1] ?? '');
    return isVerb && writesAsVerb.has(word);
  });
}

const beforeVerb = new Set('and or to then also will can may it tool that which'.split(' '));

function descriptionWrites(description: string): boolean {
  return description.split(/[.!?;\n]+/).some((sentence) => {
    const words = descriptionWords(sentence);
    return words.some((word, i) => {
      const base = stem(word);
      if (writes.has(word) || (writes.has(base) && base !== word)) return true;
      const isVerb = i === 0 || beforeVerb.has(words[i - 1] ?? '');
      return isVerb && (writesAsVerb.has(word) || writesAsVerb.has(base));
    });
  });
}

function descriptionWords(text: string): string[] {
  return text.toLowerCase().match(/[a-z]+/g) ?? [];
}

/** Third person to base form: "searches" → search, "deletes" → delete. Participles ("deleted items") stay as they are. */
function stem(word: string): string {
  if (/(?:ch|sh|ss|x)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}
