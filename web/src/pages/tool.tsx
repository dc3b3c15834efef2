import { type ReactNode, useMemo, useState } from 'react';
import { type Payload, serverPath, type Tool } from '../api.ts';
import { toToolCall } from '../mcp-call.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { InlineMarkdown, Markdown } from '../parts/markdown.tsx';
import { Empty, Failure, Loading, Notice } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { type Playable, Playground } from '../parts/playground.tsx';
import { Scroll } from '../parts/scroll.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { useResource } from '../resource.ts';
import { linkTo, linkWith, useParameter } from '../route.ts';
import { isObject, readJson, type Schema, toRows } from '../schema.ts';
import { useIsAdmin } from '../session.ts';

export function ToolPage({ name }: { name: string }) {
  const server = name.split('.')[0] ?? name;
  const { data, error, reload } = useResource<{ tools: Tool[] }>(`${serverPath(server)}/tools`, {
    on: ['server.discovered', 'catalog.changed'],
  });
  const tool = data?.tools.find((each) => each.name === name);
  if (tool !== undefined) return <ToolView tool={tool} server={server} />;
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

function ToolView({ tool, server }: { tool: Tool; server: string }) {
  const [tab] = useParameter('tab', 'call');
  const tabs = [
    { id: 'call', name: 'Call', href: linkWith({ tab: undefined }) },
    { id: 'schema', name: 'Arguments', href: linkWith({ tab: 'schema' }) },
    { id: 'output', name: 'Output', href: linkWith({ tab: 'output' }) },
    { id: 'details', name: 'Details', href: linkWith({ tab: 'details' }) },
  ];
  return (
    <Page
      title={tool.title ?? tool.original_name}
      badge={<ToolBadges tool={tool} />}
      crumbs={[
        { name: 'Tools', href: linkTo('tools') },
        { name: server, href: linkTo('servers', server) },
      ]}
    >
      <Description text={tool.description} />
      <Held tool={tool} server={server} />
      <Tabs label="Tool" tabs={tabs} current={tab}>
        {tab === 'call' && <CallTab tool={tool} server={server} />}
        {tab === 'schema' && (
          <SchemaTable label="Arguments" schema={tool.input_schema} empty="This tool has no arguments." />
        )}
        {tab === 'output' && (
          <SchemaTable
            label="Output"
            schema={tool.output_schema}
            empty="The server does not describe the output of this tool."
          />
        )}
        {tab === 'details' && <Details tool={tool} />}
      </Tabs>
    </Page>
  );
}

const hints: readonly { hint: string; value: boolean; word: string; tone: string; meaning: string }[] = [
  { hint: 'readOnlyHint', value: true, word: 'read-only', tone: 'good', meaning: 'Does not change anything' },
  { hint: 'destructiveHint', value: true, word: 'destructive', tone: 'bad', meaning: 'May delete or overwrite' },
  {
    hint: 'idempotentHint',
    value: true,
    word: 'idempotent',
    tone: 'off',
    meaning: 'A repeated call has no further effect',
  },
  {
    hint: 'openWorldHint',
    value: true,
    word: 'open world',
    tone: 'off',
    meaning: 'Works with systems outside of the server',
  },
];

/** What the server states about its tool, unverified. */
export function ToolBadges({ tool: { annotations = {}, enabled, held_change: held } }: { tool: Tool }) {
  const isReadOnly = annotations.readOnlyHint === true;
  const shown = hints.filter(
    ({ hint, value }) => annotations[hint] === value && !(isReadOnly && hint === 'destructiveHint'),
  );
  return (
    <span className="badges">
      {!enabled && <span className="badge off">disabled</span>}
      {held !== undefined && <span className="badge bad">held for review</span>}
      {shown.map(({ hint, word, tone, meaning }) => (
        <span key={hint} className={`badge ${tone}`} title={`${meaning}, says the server`}>
          {word}
        </span>
      ))}
    </span>
  );
}

const shortChars = 300;
const shortLines = 6;

/** The beginning of a long description, so that the form stays in view. */
function Description({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const short = useMemo(() => beginningOf(text), [text]);
  if (text === '') return <p className="dim">No description.</p>;
  return (
    <div className="lead description">
      <Markdown text={whole ? text : short} />
      {short.length < text.length && (
        <button type="button" className="small" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? 'Show less' : 'Show all'}
        </button>
      )}
    </div>
  );
}

function beginningOf(text: string): string {
  const lines = text.trim().split('\n').slice(0, shortLines).join('\n');
  if (lines.length <= shortChars) return lines;
  return `${lines.slice(0, lines.lastIndexOf(' ', shortChars) + 1 || shortChars)}…`;
}

function Held({ tool: { held_change: held, enabled }, server }: { tool: Tool; server: string }) {
  if (held !== undefined) {
    return (
      <Notice tone="bad">
        The server changed this tool ({held.risk}). Calls are held until an admin decides:{' '}
        <a href={linkTo('servers', server, 'changes')}>Review the change</a>
      </Notice>
    );
  }
  if (enabled) return null;
  return <Notice tone="warn">An admin disabled this tool. It is not listed and cannot be called.</Notice>;
}

/** `?replay=<id of a call>` starts with the arguments of a call in Traffic. */
function CallTab({ tool, server }: { tool: Tool; server: string }) {
  const [replay] = useParameter('replay');
  const isAdmin = useIsAdmin();
  const path = replay === '' || !isAdmin ? null : `/api/v1/aggregator/activity/calls/${encodeURIComponent(replay)}`;
  const { data, error, loading } = useResource<Payload>(path);
  const playable = useMemo(() => toPlayable(tool, server), [tool, server]);
  if (loading) return <Loading />;
  const initial = data === undefined ? undefined : readJson(data.arguments.json)?.value;
  return (
    <>
      {replay !== '' && initial === undefined && (
        <Notice tone="info">
          The arguments of that call are not available: {error?.message ?? 'they were too long to be kept.'}
        </Notice>
      )}
      <Playground key={replay} playable={playable} initial={isObject(initial) ? initial : undefined} />
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

function SchemaTable({ label, schema, empty }: { label: string; schema: Schema | undefined; empty: string }) {
  const rows = schema === undefined ? [] : toRows(schema);
  return (
    <>
      {rows.length === 0 ? (
        <p className="dim">{empty}</p>
      ) : (
        <Scroll label={label}>
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
                    <InlineMarkdown text={description} /> {limits !== '' && <span className="dim">{limits}</span>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {schema !== undefined && (
        <details>
          <summary>Schema as JSON</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
          <pre tabIndex={0}>{JSON.stringify(schema, null, 2)}</pre>
        </details>
      )}
    </>
  );
}

function Details({ tool }: { tool: Tool }) {
  const { name, wire_name: wireName, skill_ids: skills, discovered_at: discovered, override, warnings = [] } = tool;
  return (
    <>
      <dl className="rows">
        <Row name="Canonical name">
          <code>{name}</code> <CopyButton text={name} />
        </Row>
        <Row name="Name in MCP clients">
          <code>{wireName}</code> <CopyButton text={wireName} />
        </Row>
        {skills.length > 0 && <Row name="Categories (skills)">{skills.join(', ')}</Row>}
        <Row name="First seen">{new Date(discovered).toLocaleString()}</Row>
        {override !== undefined && (
          <Row name="Changed by an admin">
            <JsonTree value={override} />
          </Row>
        )}
      </dl>
      {warnings.map(({ kind, at, excerpt }) => (
        <Notice key={`${kind} ${at}`} tone="warn">
          <p>
            {kind} in {at}:
          </p>
          <p className="lines">{excerpt}</p>
        </Notice>
      ))}
    </>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
