/** Servers that are known by a pair of their tools and want to be asked in a way of their own. */
export interface Recipe {
  name: string;
  /** `{{word}}` in the arguments makes one call for each keyword. */
  first: { tools: readonly string[]; arguments: Record<string, unknown> };
  second: { tools: readonly string[] };
  /** Where the first tool finds an id and the second fetches what has it; without it the second is only a mark. */
  followUp?: {
    arguments: Record<string, unknown>;
    /** Keys of the first answer that hold an id, best first; for prose, the label in front of it ("library id: …"). */
    ids: readonly string[];
    take: number;
    /** Whether the answer of the first step is worth showing too. */
    keepFirst: boolean;
  };
}

export const recipes: readonly Recipe[] = [
  {
    name: 'library documentation',
    first: {
      tools: ['resolve-library-id', 'resolve_library_id'],
      arguments: { libraryName: '{{keywords}}', query: '{{query}}' },
    },
    second: { tools: ['get-library-docs', 'query-docs', 'get_library_docs'] },
    followUp: {
      arguments: {
        context7CompatibleLibraryID: '{{id}}',
        libraryId: '{{id}}',
        library_id: '{{id}}',
        topic: '{{query}}',
        query: '{{query}}',
      },
      ids: ['Context7-compatible library ID', 'libraryId', 'library_id', 'id'],
      take: 1,
      keepFirst: false,
    },
  },
  {
    // Finds only what holds the whole query, letter by letter.
    name: 'knowledge graph',
    first: { tools: ['search_nodes'], arguments: { query: '{{word}}' } },
    second: { tools: ['open_nodes'] },
  },
  {
    name: 'search and fetch',
    first: { tools: ['search'], arguments: { query: '{{query}}' } },
    second: { tools: ['fetch'] },
    followUp: { arguments: { id: '{{id}}' }, ids: ['id'], take: 3, keepFirst: true },
  },
];
