import { useDeferredValue, useEffect, useMemo, useState } from 'react';
import { type AnswerOf, ApiError, api } from '../api.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { InlineMarkdown } from '../parts/markdown.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { Choice, SearchBar } from '../parts/search-bar.tsx';
import { SkillMap } from '../parts/skill-map.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { useAnswer } from '../resource.ts';
import { linkTo, useParameter } from '../route.ts';
import { count } from '../words.ts';
import { PromptList } from './prompts.tsx';
import { ResourceList } from './resources.tsx';

type ToolsAnswer = AnswerOf<'getAggregatorTools'>;
type ToolInList = ToolsAnswer['servers'][number]['tools'][number];
type Found = AnswerOf<'postSearch'>;

/** One row of the table; `score` and `reasons` where a search found it. */
interface Row
  extends Pick<ToolInList, 'name' | 'description' | 'skill' | 'read_only' | 'destructive' | 'held' | 'enabled'> {
  title: string;
  server: string;
  score?: number;
  reasons?: string;
}

const toolsPath = '/api/v1/aggregator/tools';
const typingMs = 120;
const toolEvents = { on: ['server.discovered', 'server.removed', 'catalog.changed'], gather: 500 } as const;

const tabs = [
  { id: 'tools', name: 'Tools', href: linkTo('tools') },
  { id: 'resources', name: 'Resources', href: `${linkTo('tools')}?show=resources` },
  { id: 'prompts', name: 'Prompts', href: `${linkTo('tools')}?show=prompts` },
];

/** What servers offer. */
export function ToolsPage() {
  const [show] = useParameter('show', 'tools');
  const current = tabs.find(({ id }) => id === show) ?? tabs[0];
  return (
    <Page title={current?.name ?? ''}>
      <Tabs label="What servers offer" tabs={tabs} current={show}>
        {show === 'resources' ? <ResourceList /> : show === 'prompts' ? <PromptList /> : <ToolList />}
      </Tabs>
    </Page>
  );
}

function ToolList() {
  const list = useTools();
  const [query] = useParameter('q');
  const [server] = useParameter('server');
  const [skill, setSkill] = useParameter('skill');
  const [kind] = useParameter('kind');
  const [map, setMap] = useParameter('map');
  const all = useMemo(() => toRows(list.data), [list.data]);
  const found = useSearch(query, server, all);
  const deferred = useDeferredValue(query);
  const rows = useMemo(
    () =>
      (found.rows ?? matching(all, deferred)).filter(
        (row) =>
          (server === '' || row.server === server) && (skill === '' || row.skill === skill) && isOfKind(row, kind),
      ),
    [found.rows, all, deferred, server, skill, kind],
  );
  const servers = useMemo(() => [...new Set(all.map((row) => row.server))].sort(), [all]);
  const skills = useMemo(() => countSkills(all, server), [all, server]);
  return (
    <>
      <Failure error={list.error ?? found.error} retry={list.reload} />
      <SearchBar label="What do you want to do?">
        <Choice parameter="server" label="Server" options={toOptions('All servers', servers)} />
        <Choice
          parameter="skill"
          label="Category (skill)"
          options={toOptions('All categories', [...skills.keys()].sort())}
        />
        <Choice parameter="kind" label="Kind" options={kinds} />
        {skills.size > 1 && (
          <button type="button" aria-pressed={map !== ''} onClick={() => setMap(map === '' ? 'on' : '')}>
            Category map
          </button>
        )}
      </SearchBar>
      {map !== '' && <SkillMap skills={skills} chosen={skill} onChoose={setSkill} />}
      {list.loading && <Loading />}
      {list.data !== undefined && all.length === 0 && (
        <Empty title="No tools yet">
          <p>Tools appear as soon as a server is connected.</p>
          <a className="button primary" href={linkTo('servers', '+')}>
            Add servers
          </a>
        </Empty>
      )}
      {all.length > 0 && (
        <>
          <p className="summary" role="status">
            {count(rows.length, 'tool')}
            {rows.length < all.length && ` of ${all.length.toLocaleString('en-US')}`}
            {found.ms !== undefined && `, found in ${found.ms} ms`}
          </p>
          <DataTable
            label="Tools"
            rows={rows}
            columns={found.rows === undefined ? listColumns : foundColumns}
            keyOf={keyOf}
            question={`${found.query ?? deferred} ${server} ${skill} ${kind}`}
            empty="No tools match. Try other words, or browse the tools of a server."
          />
        </>
      )}
    </>
  );
}

const keyOf = ({ name }: Row) => name;

const kinds = [
  { value: '', name: 'All kinds' },
  { value: 'read-only', name: 'Read-only' },
  { value: 'destructive', name: 'Destructive' },
  { value: 'held', name: 'Held or disabled' },
];

function isOfKind({ read_only: isReadOnly, destructive, held, enabled }: Row, kind: string): boolean {
  if (kind === 'read-only') return isReadOnly === true;
  if (kind === 'destructive') return destructive === true && isReadOnly !== true;
  return kind !== 'held' || held !== null || !enabled;
}

const toOptions = (all: string, names: readonly string[]) => [
  { value: '', name: all },
  ...names.map((name) => ({ value: name, name })),
];

const name: Column<Row> = {
  id: 'name',
  name: 'Tool',
  sortBy: (row) => row.title,
  cell: (row) => <a href={linkTo('tools', row.name)}>{row.title}</a>,
};
const marks: Column<Row> = {
  id: 'marks',
  name: 'Kind',
  width: '8rem',
  onlyWide: true,
  cell: (row) => <Marks row={row} />,
};
const server: Column<Row> = {
  id: 'server',
  name: 'Server',
  width: '8rem',
  sortBy: (row) => row.server,
  cell: (row) => row.server,
};
const skillColumn: Column<Row> = {
  id: 'skill',
  name: 'Category',
  width: '10rem',
  onlyWide: true,
  sortBy: (row) => row.skill ?? '',
  cell: (row) => (row.skill ?? '').replaceAll('_', ' '),
};
const description: Column<Row> = {
  id: 'description',
  name: 'Description',
  width: '36%',
  onlyWide: true,
  cell: (row) => (
    <span className="dim">
      <InlineMarkdown text={row.description} />
    </span>
  ),
};
const score: Column<Row> = {
  id: 'score',
  name: 'Score',
  width: '7.5rem',
  cell: ({ title, score: value = 0, reasons }) => (
    <span title={reasons}>
      <meter min={0} max={1} value={value} aria-label={`Score of ${title}`} /> {value.toFixed(2)}
    </span>
  ),
};
const why: Column<Row> = {
  id: 'why',
  name: 'Matches',
  width: '16%',
  onlyWide: true,
  cell: (row) => <span className="dim">{row.reasons}</span>,
};
const listColumns = [name, server, marks, skillColumn, description];
const foundColumns = [name, server, score, why, description];

function Marks({ row: { read_only: isReadOnly, destructive, held, enabled } }: { row: Row }) {
  if (held !== null) return <span className="badge bad">held</span>;
  if (!enabled) return <span className="badge off">disabled</span>;
  if (isReadOnly === true) return <span className="badge good">read-only</span>;
  return destructive === true ? <span className="badge warn">destructive</span> : null;
}

/** Only the servers that changed are sent again. */
function useTools() {
  return useAnswer<ToolsAnswer>(
    [toolsPath],
    async (signal, before) => {
      const path = before === undefined ? toolsPath : `${toolsPath}?since=${encodeURIComponent(before.revision)}`;
      const answer = await api<ToolsAnswer>('GET', path, undefined, signal);
      if (before === undefined || answer.complete) return answer;
      const replaced = new Set([...answer.removed, ...answer.servers.map(({ id }) => id)]);
      return { ...answer, servers: [...before.servers.filter(({ id }) => !replaced.has(id)), ...answer.servers] };
    },
    toolEvents,
  );
}

interface Ranked {
  /** What was answered; older than what is typed. */
  query?: string;
  rows?: Row[];
  ms?: number;
  error?: ApiError;
}

/** Ranked by the aggregator while one types; undefined rows where nothing was typed. */
function useSearch(query: string, server: string, all: readonly Row[]): Ranked {
  const [answer, setAnswer] = useState<{ query?: string; found?: Found; ms?: number; error?: ApiError }>({});
  const wanted = query.trim();
  useEffect(() => {
    if (wanted === '') return;
    const gone = new AbortController();
    const timer = window.setTimeout(async () => {
      const body = { query: wanted, limit: 50, include_schemas: false, include_reasons: true };
      const started = performance.now();
      try {
        const found = await api<Found>(
          'POST',
          '/api/v1/search',
          { ...body, ...(server === '' ? {} : { server_filter: [server] }) },
          gone.signal,
        );
        setAnswer({ query: wanted, found, ms: Math.round(performance.now() - started) });
      } catch (error) {
        if (!gone.signal.aborted && error instanceof ApiError) setAnswer({ error });
      }
    }, typingMs);
    return () => {
      window.clearTimeout(timer);
      gone.abort();
    };
  }, [wanted, server]);
  const { query: answered, found, ms, error } = answer;
  const rows = useMemo(() => {
    const known = new Map(all.map((row) => [row.name, row]));
    return found?.tools.map((tool) => toFoundRow(tool, known.get(tool.name)));
  }, [found, all]);
  // Until the next answer is there, the one before it is better than a list that jumps.
  return wanted === '' ? {} : { query: answered, rows, ms, error };
}

function toFoundRow(tool: Found['tools'][number], known: Row | undefined): Row {
  const { name, description, score, primary_skill_id: skill, source_server: source, reasons } = tool;
  const words = reasons?.matched_words ?? [];
  const parts = [
    words.length > 0 ? `Words: ${words.slice(0, 5).join(', ')}` : undefined,
    typeof reasons?.similarity === 'number' ? `meaning ${Math.round(reasons.similarity * 100)} %` : undefined,
  ].filter((part) => part !== undefined);
  return {
    title: name.slice(name.indexOf('.') + 1),
    read_only: null,
    destructive: null,
    held: null,
    enabled: true,
    ...known,
    name,
    server: source?.name ?? 'aggregator',
    description,
    skill: skill ?? null,
    score,
    reasons: parts.join(', '),
  };
}

function toRows(list: ToolsAnswer | undefined): Row[] {
  const rows = (list?.servers ?? []).flatMap((each) =>
    each.tools.map((tool) => ({ ...tool, title: tool.original_name, server: each.name })),
  );
  return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function matching(rows: Row[], query: string): Row[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text = `${row.name} ${row.description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function countSkills(rows: readonly Row[], onServer: string): Map<string, number> {
  const skills = new Map<string, number>();
  for (const row of rows) {
    if (row.skill !== null && (onServer === '' || row.server === onServer))
      skills.set(row.skill, (skills.get(row.skill) ?? 0) + 1);
  }
  return skills;
}
