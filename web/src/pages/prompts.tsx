import { useMemo } from 'react';
import type { Json } from '../api.ts';
import { serverEndpoint } from '../mcp-call.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { InlineMarkdown } from '../parts/markdown.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { type Playable, Playground } from '../parts/playground.tsx';
import { SearchBar } from '../parts/search-bar.tsx';
import { linkTo, useParameter } from '../route.ts';
import { isObject, type Schema } from '../schema.ts';
import { type Offered, textOf, useOffered } from './offered.ts';

const methods = ['prompts/list'] as const;
const nameOf = ({ entry }: Offered) => textOf(entry, 'name');

const columns: readonly Column<Offered>[] = [
  {
    id: 'title',
    name: 'Prompt',
    sortBy: ({ entry }) => textOf(entry, 'title', 'name'),
    cell: (row) => <a href={linkTo('prompts', row.server, nameOf(row))}>{textOf(row.entry, 'title', 'name')}</a>,
  },
  { id: 'server', name: 'Server', width: '9rem', sortBy: ({ server }) => server, cell: ({ server }) => server },
  {
    id: 'arguments',
    name: 'Arguments',
    onlyWide: true,
    cell: ({ entry }) =>
      argumentsOf(entry)
        .map(({ name }) => String(name))
        .join(', '),
  },
  {
    id: 'description',
    name: 'Description',
    width: '30%',
    onlyWide: true,
    cell: ({ entry }) => <span className="dim">{textOf(entry, 'description')}</span>,
  },
];

const argumentsOf = (entry: Json): Json[] => (Array.isArray(entry.arguments) ? entry.arguments.filter(isObject) : []);

export function PromptList() {
  const { data, error, loading, reload } = useOffered(methods);
  const [query] = useParameter('q');
  const shown = useMemo(() => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return (data ?? []).filter(({ server, entry }) => {
      const text = `${server} ${textOf(entry, 'title')} ${textOf(entry, 'name')} ${textOf(entry, 'description')}`;
      return words.every((word) => text.toLowerCase().includes(word));
    });
  }, [data, query]);
  return (
    <>
      <Failure error={error} retry={reload} />
      {loading && <Loading />}
      {data?.length === 0 && (
        <Empty title="No prompts">
          <p>None of the connected servers offers prompts.</p>
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <>
          <SearchBar label="Search prompts" />
          <DataTable label="Prompts" rows={shown} columns={columns} keyOf={keyOf} sort="title" question={query} />
        </>
      )}
    </>
  );
}

const keyOf = (row: Offered) => `${row.server} ${nameOf(row)}`;

export function PromptPage({ server, name }: { server: string; name: string }) {
  const { data, error, loading } = useOffered(methods);
  const prompt = data?.find((each) => each.server === server && nameOf(each) === name)?.entry;
  const playable = useMemo(
    () => (prompt === undefined ? undefined : toPlayable(server, name, prompt)),
    [server, name, prompt],
  );
  if (prompt === undefined || playable === undefined) {
    if (error !== undefined) return <Failure error={error} />;
    if (loading) return <Loading />;
    return (
      <Empty page title={`Prompt not found: ${name}`}>
        <a href={`${linkTo('tools')}?show=prompts`}>All prompts</a>
      </Empty>
    );
  }
  return (
    <Page
      title={textOf(prompt, 'title', 'name')}
      crumbs={[
        { name: 'Prompts', href: `${linkTo('tools')}?show=prompts` },
        { name: server, href: linkTo('servers', server) },
      ]}
    >
      <p className="lead lines">
        <InlineMarkdown text={textOf(prompt, 'description')} />
      </p>
      <Playground playable={playable} />
    </Page>
  );
}

/** Arguments of prompts are texts. */
function toPlayable(server: string, name: string, prompt: Json): Playable {
  const fields = argumentsOf(prompt);
  const schema: Schema = {
    type: 'object',
    properties: Object.fromEntries(
      fields.map((field) => [
        String(field.name),
        {
          type: 'string',
          title: textOf(field, 'title', 'name'),
          description: textOf(field, 'description') || undefined,
        },
      ]),
    ),
    required: fields.filter(({ required }) => required === true).map((field) => String(field.name)),
  };
  return {
    kind: 'prompt',
    server,
    name,
    schema,
    toRequest: (args) => ({
      endpoint: serverEndpoint(server),
      method: 'prompts/get',
      params: { name, arguments: args },
    }),
  };
}
