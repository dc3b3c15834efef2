import { stem } from '../similarity/stem.ts';

/**
 * What verbs do to a thing, in four kinds. A tool whose verb is of another kind than the request's is seldom meant: who
 * wants to delete does not want to create, and who wants to read does not want to change.
 */
const verbs = {
  create: [
    ...['add', 'compose', 'create', 'generate', 'insert', 'make', 'new', 'open', 'post', 'publish', 'register'],
    ...['save', 'schedule', 'send', 'start', 'upload', 'write'],
    ...['link', 'memorize', 'remember', 'store'],
  ],
  remove: [
    ...['archive', 'cancel', 'clear', 'close', 'delete', 'destroy', 'drop', 'erase', 'remove', 'stop', 'terminate'],
    'unregister',
    ...['discard', 'forget', 'purge', 'unlink', 'wipe'],
  ],
  read: [
    ...['check', 'describe', 'display', 'download', 'fetch', 'find', 'get', 'give', 'inspect', 'know', 'list', 'look'],
    ...['lookup', 'monitor', 'query', 'read', 'retrieve', 'search', 'see', 'show', 'tell', 'view', 'what', 'which'],
  ],
  change: [
    ...['adjust', 'change', 'configure', 'edit', 'modify', 'move', 'patch', 'rename', 'replace', 'set', 'update'],
  ],
} as const;

type Action = keyof typeof verbs;

const actions = new Map<string, Action>(
  Object.entries(verbs).flatMap(([action, words]) => words.map((word) => [stem(word), action as Action])),
);

const spelled = new Set<string>(Object.values(verbs).flat());

/** Is it a verb of these kinds as it is spelt, as in an instruction: «create», but not «created»? */
export const isVerb = (word: string): boolean => spelled.has(word);

/** The kind of the first verb among these stems. */
export function firstAction(terms: readonly string[]): Action | undefined {
  for (const term of terms) {
    const action = actions.get(term);
    if (action !== undefined) return action;
  }
  return undefined;
}

/** Of a tool: by the first word of its name and of its description, which may differ. */
export function actionsOf(firstTerms: readonly (string | undefined)[]): Action[] {
  return firstTerms.flatMap((term) => (term === undefined ? [] : (actions.get(term) ?? [])));
}
