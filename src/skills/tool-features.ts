/**
 * What the embedded classifier computes with: the vectors of a tool's name, definition and server, and the words of both
 * names, hashed into a fixed number of places. Pure; the product and scripts/skills share it.
 */
import { stem } from '../similarity/stem.ts';
import { hashOf } from '../similarity/word-scanner.ts';
import type { ToolToClassify } from './tool-to-classify.ts';

export type EmbedText = (text: string) => Float32Array;

const maxNameChars = 200;
const maxDefinitionChars = 600;
const maxServerChars = 500;
const maxWords = 12;

/** How much each part counts; the vectors have length one. */
const weights = { name: 4, definition: 6, server: 6, word: 1 };
const wordPlaces = 256;

export const featuresOf = (dimensions: number): number => 3 * dimensions + wordPlaces;

export function toFeatures(tool: ToolToClassify, embed: EmbedText): Float32Array {
  const { name, definition, server } = embedTool(tool, embed);
  const size = name.length;
  const features = new Float32Array(featuresOf(size));
  for (let at = 0; at < size; at++) {
    features[at] = (name[at] as number) * weights.name;
    features[size + at] = (definition[at] as number) * weights.definition;
    features[2 * size + at] = (server[at] as number) * weights.server;
  }
  for (const word of wordsOf(tool)) {
    const hash = hashOf(word);
    const place = 3 * size + ((hash >>> 1) % wordPlaces);
    // Half of the words count the other way, so that those that share a place cancel out on average.
    features[place] = (features[place] as number) + (hash & 1 ? weights.word : -weights.word);
  }
  return features;
}

export function embedTool({ name, title, description, server }: ToolToClassify, embed: EmbedText) {
  const called = `${name}. ${title}`.slice(0, maxNameChars);
  return {
    name: embed(called),
    definition: embed(`${called}. ${description.slice(0, maxDefinitionChars)}`),
    server: embed(`${server.name}. ${server.description.slice(0, maxServerChars)}`),
  };
}

/** The tool's words and the server's are different features. */
function wordsOf({ name, title, server }: ToolToClassify): Set<string> {
  const ofTool = toStems(`${name} ${title}`).map((word) => `tool ${word}`);
  const ofServer = toStems(server.name).map((word) => `server ${word}`);
  return new Set([...ofTool, ...ofServer]);
}

function toStems(text: string): string[] {
  const spaced = text.slice(0, maxNameChars).replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2');
  return (spaced.toLowerCase().match(/\p{L}+/gu) ?? []).slice(0, maxWords).map(stem);
}
