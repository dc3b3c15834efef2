import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findProviders, saysIdentifier } from '../../src/search/providers.ts';
import { search } from '../../src/search/search.ts';
import type { SearchableTool } from '../../src/search/tool.ts';
import { sampleIndex, sampleTool, sampleTools } from './sample-tools.ts';

const takes = (tool: SearchableTool, ...required: string[]): SearchableTool => ({
  ...tool,
  inputSchema: { type: 'object', properties: Object.fromEntries(required.map((name) => [name, {}])), required },
});

const films = [
  takes(sampleTool(21, 'films', 'get_movie_credits', 'Get the cast and crew of a movie'), 'movieId'),
  takes(sampleTool(22, 'films', 'search_movie', 'Search for movies by title'), 'title'),
  sampleTool(23, 'films', 'list_movie_genres', 'List the genres that movies have'),
  takes(sampleTool(24, 'films', 'get_person', 'Get the details of a person'), 'id'),
  sampleTool(25, 'films', 'find_person', 'Find people'),
  sampleTool(26, 'films', 'get /companies/{id}/logo', 'Get the logo'),
  sampleTool(27, 'films', 'get /search', 'Find movies and companies'),
];
const providersOf = (id: number) =>
  findProviders(
    films.filter((film) => film.id === id).map((tool) => ({ tool, relevance: 1 })),
    () => films,
  ).map(({ tool }) => tool.originalName);

test('providers: an id of a thing needs the tool that finds the thing', () => {
  assert.deepEqual(providersOf(21), ['search_movie'], 'by the name of the parameter');
  assert.deepEqual(providersOf(24), ['find_person'], 'by the name of the tool');
  assert.deepEqual(providersOf(26), ['get /search'], 'by its path');
  assert.deepEqual(providersOf(22), [], 'a title is no id');
});

test('providers: a request that says an id needs none', () => {
  for (const text of ['the user with id 7', 'order 123456', 'commit 9fceb02d0ae5', 'uuid of it'])
    assert.ok(saysIdentifier(text));
  for (const text of ['who played in Alien?', 'movies of 1979', 'a good idea']) assert.ok(!saysIdentifier(text), text);
});

test('search: the step that a request implies is found', async () => {
  const index = await sampleIndex([...sampleTools, ...films]);
  const { tools } = await search(index, { query: 'who was in the cast and crew of Alien?', limit: 3 });
  assert.deepEqual(
    tools.slice(0, 2).map(({ tool }) => tool.originalName),
    ['get_movie_credits', 'search_movie'],
  );
});
