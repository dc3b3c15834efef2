/** What a server offers besides tools, asked of its own MCP endpoint. */
import type { ServerDetail } from '../api.ts';
import { listMcp, type McpItem } from '../mcp-list.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { useAnswer } from '../resource.ts';
import { linkTo } from '../route.ts';

const kinds = [
  { method: 'resources/list', member: 'resources', title: 'Resources', key: 'uri' },
  { method: 'resources/templates/list', member: 'resourceTemplates', title: 'Resource templates', key: 'uriTemplate' },
  { method: 'prompts/list', member: 'prompts', title: 'Prompts', key: 'name' },
] as const;

export function ServerOffers({ server }: { server: ServerDetail }) {
  return kinds.map((kind) => <Offers key={kind.method} server={server.name} kind={kind} />);
}

const textOf = (item: McpItem, name: string) => (typeof item[name] === 'string' ? item[name] : '');

function Offers({ server, kind: { method, member, title, key } }: { server: string; kind: (typeof kinds)[number] }) {
  const { data, error, loading, reload } = useAnswer(
    ['mcp', server, method],
    (signal) => listMcp(`/mcp/servers/${encodeURIComponent(server)}`, method, member, signal),
    { on: ['server.discovered', 'catalog.changed'], when: (event) => event.name === server || event.server === server },
  );
  const columns: Column<McpItem>[] = [
    {
      id: 'name',
      name: 'Name',
      width: '16rem',
      sortBy: (item) => textOf(item, 'name'),
      cell: (item) => (
        <a href={linkTo(key === 'name' ? 'prompts' : 'resources', server, textOf(item, key))}>
          {textOf(item, 'title') || textOf(item, 'name')}
        </a>
      ),
    },
    ...(key === 'name' ? [] : [{ id: 'uri', name: 'URI', cell: (item: McpItem) => <code>{textOf(item, key)}</code> }]),
    {
      id: 'description',
      name: 'Description',
      onlyWide: true,
      cell: (item) => <span className="dim">{textOf(item, 'description')}</span>,
    },
  ];
  return (
    <section>
      <h2>{title}</h2>
      {loading && <Loading />}
      <Failure error={error} retry={reload} />
      {data !== undefined && (
        <DataTable
          label={title}
          rows={data}
          columns={columns}
          keyOf={(item) => textOf(item, key)}
          sort="name"
          empty={`The server has no ${title.toLowerCase()}.`}
        />
      )}
    </section>
  );
}
