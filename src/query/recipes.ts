/** A server that wants two calls: one finds an id, the other fetches what has it. */
export interface Recipe {
  name: string;
  first: { tools: readonly string[]; arguments: Record<string, unknown> };
  /** Keys of the first answer that hold an id, best first; for prose, the label in front of it ("library id: …"). */
  ids: readonly string[];
  take: number;
  keepFirst: boolean;
  second: { tools: readonly string[]; arguments: Record<string, unknown> };
}

export const recipes: readonly Recipe[] = [
  {
    name: 'library documentation',
    first: {
      tools: ['resolve-library-id', 'resolve_library_id'],
      arguments: { libraryName: '{{keywords}}', query: '{{query}}' },
    },
    ids: ['Context7-compatible library ID', 'libraryId', 'library_id', 'id'],
    take: 1,
    keepFirst: false,
    second: {
      tools: ['get-library-docs', 'query-docs', 'get_library_docs'],
      arguments: {
        context7CompatibleLibraryID: '{{id}}',
        libraryId: '{{id}}',
        library_id: '{{id}}',
        topic: '{{query}}',
        query: '{{query}}',
      },
    },
  },
  {
    name: 'search and fetch',
    first: { tools: ['search'], arguments: { query: '{{query}}' } },
    ids: ['id'],
    take: 3,
    keepFirst: true,
    second: { tools: ['fetch'], arguments: { id: '{{id}}' } },
  },
];
