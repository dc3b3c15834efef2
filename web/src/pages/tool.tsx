import { serverPath, type Tool } from '../api.ts';
import { toToolCall } from '../mcp-call.ts';
import { Markdown } from '../parts/markdown.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { type Playable, Playground } from '../parts/playground.tsx';
import { Scroll } from '../parts/scroll.tsx';
import { useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import { type Schema, toRows } from '../schema.ts';

export function ToolPage({ name }: { name: string }) {
  const server = name.split('.')[0] ?? name;
  const { data, error, reload } = useResource<{ tools: Tool[] }>(`${serverPath(server)}/tools`, {
    on: ['server.discovered', 'catalog.changed'],
  });
  const tool = data?.tools.find((each) => each.name === name);
  if (tool !== undefined) return <Loaded tool={tool} server={server} />;
  if (data === undefined && error === undefined) return <Loading />;
  if (error !== undefined && error.status !== 404) return <Failure error={error} retry={reload} />;
  return (
    <Empty page title={`Tool not found: ${name}`}>
      <p>
        The server may have removed it. <a href={linkTo('tools')}>All tools</a>
      </p>
    </Empty>
  );
}

function Loaded({ tool, server }: { tool: Tool; server: string }) {
  return (
    <>
      <p className="crumbs">
        <a href={linkTo('tools')}>Tools</a> / <a href={linkTo('servers', server)}>{server}</a> /
      </p>
      <h1>{tool.title ?? tool.original_name}</h1>
      <Markdown text={tool.description || 'No description.'} />
      <dl className="facts">
        <div>
          <dt>Name</dt>
          <dd>
            <code>{tool.name}</code>
          </dd>
        </div>
        <div>
          <dt>In MCP clients</dt>
          <dd>
            <code>{tool.wire_name}</code>
          </dd>
        </div>
        {tool.skill_ids.length > 0 && (
          <div>
            <dt>Categories (skills)</dt>
            <dd>{tool.skill_ids.join(', ')}</dd>
          </div>
        )}
      </dl>
      <Playground playable={toPlayable(tool, server)} />
      <h2>Arguments</h2>
      <SchemaTable schema={tool.input_schema as Schema} />
    </>
  );
}

function SchemaTable({ schema }: { schema: Schema }) {
  const rows = toRows(schema);
  return (
    <>
      {rows.length === 0 ? (
        <p className="dim">None.</p>
      ) : (
        <Scroll label="Arguments">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Type</th>
                <th scope="col">Description</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ path, type, required, description, limits }) => (
                <tr key={path}>
                  <th scope="row">
                    <code>{path}</code>
                    {required && <span className="needed"> required</span>}
                  </th>
                  <td>{type}</td>
                  <td>
                    {description} {limits !== '' && <span className="dim">{limits}</span>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      <details>
        <summary>Schema as JSON</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
        <pre tabIndex={0}>{JSON.stringify(schema, null, 2)}</pre>
      </details>
    </>
  );
}

function toPlayable(tool: Tool, server: string): Playable {
  return {
    kind: 'tool',
    server,
    name: tool.name,
    schema: tool.input_schema,
    toRequest: (args) => toToolCall(tool.wire_name, args),
  };
}
