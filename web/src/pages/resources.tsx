import { useMemo } from 'react';
import { serverEndpoint } from '../mcp-call.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { InlineMarkdown } from '../parts/markdown.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { type Playable, Playground } from '../parts/playground.tsx';
import { SearchBar } from '../parts/search-bar.tsx';
import { linkTo, useParameter } from '../route.ts';
import { expand, isTemplate, toVariables } from '../uri-template.ts';
import { type Offered, textOf, useOffered } from './offered.ts';

interface Row {
  server: string;
  /** Of a resource, or the template of several. */
  uri: string;
  title: string;
  description: string;
  type: string;
}

const methods = ['resources/list', 'resources/templates/list'] as const;

function toRow({ server, entry }: Offered): Row {
  const uri = textOf(entry, 'uri', 'uriTemplate');
  return {
    server,
    uri,
    title: textOf(entry, 'title', 'name') || uri,
    description: textOf(entry, 'description'),
    type: isTemplate(uri) ? 'template' : textOf(entry, 'mimeType'),
  };
}

const columns: readonly Column<Row>[] = [
  {
    id: 'title',
    name: 'Resource',
    sortBy: ({ title }) => title,
    cell: ({ server, uri, title }) => <a href={linkTo('resources', server, uri)}>{title}</a>,
  },
  { id: 'server', name: 'Server', width: '9rem', sortBy: ({ server }) => server, cell: ({ server }) => server },
  {
    id: 'uri',
    name: 'URI',
    width: '28%',
    onlyWide: true,
    sortBy: ({ uri }) => uri,
    cell: ({ uri }) => <code>{uri}</code>,
  },
  { id: 'type', name: 'Type', width: '10rem', onlyWide: true, sortBy: ({ type }) => type, cell: ({ type }) => type },
  {
    id: 'description',
    name: 'Description',
    width: '30%',
    onlyWide: true,
    cell: ({ description }) => <span className="dim">{description}</span>,
  },
];

export function ResourceList() {
  const { data, error, loading, reload } = useOffered(methods);
  const [query] = useParameter('q');
  const rows = useMemo(() => (data ?? []).map(toRow), [data]);
  const shown = useMemo(() => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return rows.filter((row) => {
      const text = `${row.title} ${row.server} ${row.uri} ${row.description}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }, [rows, query]);
  return (
    <>
      <Failure error={error} retry={reload} />
      {loading && <Loading />}
      {data !== undefined && rows.length === 0 && (
        <Empty title="No resources">
          <p>None of the connected servers offers resources.</p>
        </Empty>
      )}
      {rows.length > 0 && (
        <>
          <SearchBar label="Search resources" />
          <DataTable label="Resources" rows={shown} columns={columns} keyOf={keyOf} sort="title" question={query} />
        </>
      )}
    </>
  );
}

const keyOf = ({ server, uri }: Row) => `${server} ${uri}`;

export function ResourcePage({ server, uri }: { server: string; uri: string }) {
  const { data } = useOffered(methods);
  const known = data?.map(toRow).find((row) => row.server === server && row.uri === uri);
  const playable = useMemo(() => toPlayable(server, uri), [server, uri]);
  return (
    <Page
      title={known?.title ?? uri}
      crumbs={[
        { name: 'Resources', href: `${linkTo('tools')}?show=resources` },
        { name: server, href: linkTo('servers', server) },
      ]}
    >
      {known !== undefined && known.description !== '' && (
        <p className="lead lines">
          <InlineMarkdown text={known.description} />
        </p>
      )}
      <p>
        <code>{uri}</code>
      </p>
      <Playground playable={playable} />
    </Page>
  );
}

function toPlayable(server: string, uri: string): Playable {
  return {
    kind: 'resource',
    server,
    name: uri,
    schema: toVariables(uri),
    toRequest: (args) => ({
      endpoint: serverEndpoint(server),
      method: 'resources/read',
      params: { uri: expand(uri, args) },
    }),
  };
}
