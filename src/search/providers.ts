/**
 * Steps that a request implies: a tool that takes the id of a thing needs another one that finds the thing, unless the
 * request says the id. «Who played in Alien?» needs the cast of a movie by its id, and so the search for movies.
 */
import { toTerms } from './lexical.ts';
import { type SearchableTool, toRequired } from './tool.ts';

/** A relevant tool, and how relevant it is. */
interface Consumer {
  tool: SearchableTool;
  relevance: number;
}

interface Provider {
  tool: SearchableTool;
  /** Of the tool that needs it. */
  relevance: number;
}

const identifierTerms = new Set(['id', 'ids', 'key', 'slug', 'uuid', 'guid', 'identifier'].flatMap(toTerms));
const searching = new Set(['search', 'find', 'lookup', 'query'].flatMap(toTerms));
const listing = new Set(['list', 'all', 'browse'].flatMap(toTerms));
const verbs = new Set([
  ...searching,
  ...listing,
  ...['get', 'read', 'fetch', 'retrieve', 'show', 'by'].flatMap(toTerms),
]);

const maxNeeds = 3;
const pathParameterPattern = /(?:([\w-]{1,80})\/)?\{([\w-]{1,80})\}/g;
const identifierPattern = /\b(?:id|ids|uuid|guid)\b|\d{5,}|\b(?=\w*\d)(?=\w*[a-z])\w{8,}\b/i;

/** A request that says an id of any kind is taken at its word. */
export const saysIdentifier = (text: string): boolean => identifierPattern.test(text.slice(0, 4_000));

/** The best provider for each consumer that needs one, among the tools of its own server. */
export function findProviders(
  consumers: readonly Consumer[],
  toolsOf: (server: string) => readonly SearchableTool[],
): Provider[] {
  return consumers.flatMap(({ tool, relevance }) => {
    const things = factsOf(tool).needs;
    if (things.length === 0) return [];
    const siblings = toolsOf(tool.server).filter((sibling) => sibling.id !== tool.id);
    return things.flatMap((thing) => {
      let best: { tool: SearchableTool; fitness: number } | undefined;
      for (const sibling of siblings) {
        const fitness = fitnessOf(factsOf(sibling), thing);
        if (fitness > (best?.fitness ?? 0)) best = { tool: sibling, fitness };
      }
      return best === undefined ? [] : [{ tool: best.tool, relevance }];
    });
  });
}

/** Of a tool, by stems. */
interface Facts {
  /** 2 for a tool that searches, 1 for one that lists, else 0. */
  finds: number;
  name: readonly string[];
  says: ReadonlySet<string>;
  /** The things whose ids it takes: `movie_id` is a movie, `/artists/{id}` an artist, the `id` of `get_page` a page. */
  needs: readonly string[][];
}

/** A tool's texts never change: another description makes another object. */
const knownFacts = new WeakMap<SearchableTool, Facts>();

function factsOf(tool: SearchableTool): Facts {
  const known = knownFacts.get(tool);
  if (known !== undefined) return known;
  const name = toTerms(tool.originalName);
  const finds = name.some((term) => searching.has(term)) ? 2 : name.some((term) => listing.has(term)) ? 1 : 0;
  const says = new Set(finds === 0 ? [] : toTerms(tool.description.slice(0, 300)));
  const facts = { name, finds, says, needs: thingsNeededBy(tool) };
  knownFacts.set(tool, facts);
  return facts;
}

function thingsNeededBy(tool: SearchableTool): string[][] {
  const fromPath = [...tool.originalName.matchAll(pathParameterPattern)].map(([, before = '', parameter = '']) =>
    thingOf(parameter, toTerms(before)),
  );
  const nouns = toTerms(tool.originalName.replaceAll(pathParameterPattern, ' ')).filter((term) => !verbs.has(term));
  const fromSchema = toRequired(tool.inputSchema).map((parameter) => thingOf(parameter, nouns));
  const things = [...fromPath, ...fromSchema].filter((thing) => thing.length > 0);
  return [...new Map(things.map((thing) => [thing.join(' '), thing])).values()].slice(0, maxNeeds);
}

function thingOf(parameter: string, otherwise: string[]): string[] {
  const terms = toTerms(parameter);
  if (!identifierTerms.has(terms.at(-1) ?? '')) return [];
  const thing = terms.filter((term) => !identifierTerms.has(term) && !term.endsWith('id'));
  return thing.length > 0 ? thing : otherwise;
}

/** 0 for a tool that does not lead to the thing, or that needs it too. */
function fitnessOf({ finds, name, says, needs }: Facts, thing: readonly string[]): number {
  if (finds === 0 || needs.some((needed) => needed.join(' ') === thing.join(' '))) return 0;
  if (thing.every((term) => name.includes(term))) return finds + 2 + 1 / name.length;
  return thing.every((term) => says.has(term)) ? finds : 0;
}
