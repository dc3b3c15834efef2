import { useDeferredValue, useEffect, useMemo, useState } from 'react';
import { type AnswerOf, ApiError, api, type ServerList, serversPath, type Tool } from '../api.ts';
import { useHas } from '../features.ts';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { SkillMap } from '../parts/skill-map.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import { count } from '../words.ts';

interface Row {
  name: string;
  server: string;
  title: string;
  description: string;
  skill: string;
  score?: number;
  reasons?: string;
}

type Found = AnswerOf<'postSearch'>;

const searchPath = '/api/v1/search';
const typingMs = 120;

export function ToolsPage({ initialServer }: { initialServer: string }) {
  const list = useResource<ServerList>(`${serversPath}?limit=1000&include_tools=true`, {
    on: ['server.discovered', 'server.removed', 'catalog.changed'],
    gather: 500,
  });
  const [query, setQuery] = useState('');
  const [server, setServer] = useState(initialServer);
  const [skill, setSkill] = useState('');
  const [map, setMap] = useState(false);
  const all = useMemo(() => toRows(list.data), [list.data]);
  const found = useSearch(query, server);
  const deferred = useDeferredValue(query);
  const rows = useMemo(
    () => (found.rows ?? matching(all, deferred)).filter((row) => fits(row, server, skill)),
    [found.rows, all, deferred, server, skill],
  );
  const servers = useMemo(() => [...new Set(all.map((row) => row.server))].sort(), [all]);
  const skills = useMemo(() => countSkills(all, server), [all, server]);
  const filtered = query.trim() !== '' || server !== '' || skill !== '';

  return (
    <>
      <div className="title">
        <h1>Tools</h1>
        {skills.size > 1 && (
          <button type="button" aria-pressed={map} onClick={() => setMap(!map)}>
            {map ? 'Hide the category map' : 'Category map'}
          </button>
        )}
      </div>
      <Failure error={list.error ?? found.error} retry={list.reload} />
      <search className="bar">
        <div className="field grow">
          <label htmlFor="query">What do you want to do?</label>
          <input
            id="query"
            type="search"
            autoComplete="off"
            placeholder="send a message, read a file, open an issue…"
            value={query}
            onChange={(event) => setQuery(event.target.value)}
          />
        </div>
        <Choice id="server" label="Server" all="All servers" value={server} options={servers} onChange={setServer} />
        <Choice
          id="skill"
          label="Category (skill)"
          all="All categories"
          value={skill}
          options={[...skills.keys()].sort()}
          onChange={setSkill}
        />
      </search>
      {map && <SkillMap skills={skills} chosen={skill} onChoose={setSkill} />}
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
        <p className="summary" role="status">
          {count(rows.length, 'tool')}
          {filtered ? ` of ${all.length.toLocaleString('en-US')}` : ''}
          {found.rows !== undefined && found.ms !== undefined && <span className="dim">, found in {found.ms} ms</span>}
        </p>
      )}
      {all.length > 0 && rows.length === 0 && (
        <Empty title="No tools fit">
          <p>Try other words, or browse the tools of a server.</p>
        </Empty>
      )}
      {rows.length > 0 && (
        <VirtualList rows={rows} rowHeight={72} height={720} label="Tools" keyOf={(row) => row.name}>
          {(row) => <ToolRow row={row} />}
        </VirtualList>
      )}
    </>
  );
}

function ToolRow({ row }: { row: Row }) {
  return (
    <div className="tool-row">
      <p>
        <a href={linkTo('tools', row.name)}>{row.title}</a>
        <span className="dim">{row.server}</span>
        {row.skill !== '' && <span className="tag">{row.skill}</span>}
        {row.score !== undefined && (
          <span className="score" title={row.reasons}>
            <meter min={0} max={1} value={row.score} aria-label={`score of ${row.title}`} /> {row.score.toFixed(2)}
          </span>
        )}
      </p>
      <p className="dim clip">{row.reasons === undefined ? row.description : `${row.reasons}. ${row.description}`}</p>
    </div>
  );
}

function Choice({
  id,
  label,
  all,
  value,
  options,
  onChange,
}: {
  id: string;
  label: string;
  all: string;
  value: string;
  options: string[];
  onChange: (value: string) => void;
}) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{all}</option>
        {value !== '' && !options.includes(value) && <option value={value}>{value}</option>}
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Ranked by the aggregator while one types; undefined rows where it cannot, or nothing was typed. */
function useSearch(query: string, server: string): { rows?: Row[]; ms?: number; error?: ApiError } {
  const can = useHas(searchPath);
  const [answer, setAnswer] = useState<{
    query: string;
    server: string;
    rows?: Row[];
    ms?: number;
    error?: ApiError;
  }>();
  const wanted = query.trim();
  useEffect(() => {
    if (wanted === '' || can !== true) return;
    const gone = new AbortController();
    const timer = window.setTimeout(async () => {
      const body = {
        query: wanted,
        limit: 50,
        include_schemas: false,
        include_reasons: true,
        ...(server === '' ? {} : { server_filter: [server] }),
      };
      const started = performance.now();
      try {
        const found = await api<Found>('POST', searchPath, body, gone.signal);
        setAnswer({
          query: wanted,
          server,
          rows: found.tools.map(toFoundRow),
          ms: Math.round(performance.now() - started),
        });
      } catch (error) {
        if (!gone.signal.aborted && error instanceof ApiError) setAnswer({ query: wanted, server, error });
      }
    }, typingMs);
    return () => {
      window.clearTimeout(timer);
      gone.abort();
    };
  }, [wanted, server, can]);
  // Until the next answer is there, the one before it is better than a list that jumps.
  return wanted === '' || answer === undefined ? {} : answer;
}

function toFoundRow({
  name,
  description,
  score,
  primary_skill_id: skill,
  source_server: source,
  reasons,
}: Found['tools'][number]): Row {
  const words = reasons?.matched_words ?? [];
  const parts = [
    words.length > 0 ? `Words: ${words.slice(0, 5).join(', ')}` : undefined,
    typeof reasons?.similarity === 'number' ? `meaning ${Math.round(reasons.similarity * 100)} %` : undefined,
  ].filter((part) => part !== undefined);
  return {
    name,
    server: source?.name ?? 'aggregator',
    title: name.slice(name.indexOf('.') + 1),
    description,
    skill: skill ?? '',
    score,
    reasons: parts.length === 0 ? undefined : parts.join(', '),
  };
}

function toRows(list: ServerList | undefined): Row[] {
  const rows = (list?.servers ?? []).flatMap((server) =>
    (server.tools ?? []).map((tool: Tool) => ({
      name: tool.name,
      server: server.name,
      title: tool.original_name,
      description: tool.description,
      skill: tool.primary_skill_id ?? '',
    })),
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

const fits = (row: Row, server: string, skill: string) =>
  (server === '' || row.server === server) && (skill === '' || row.skill === skill);

function countSkills(rows: Row[], server: string): Map<string, number> {
  const skills = new Map<string, number>();
  for (const row of rows) {
    if (row.skill !== '' && (server === '' || row.server === server))
      skills.set(row.skill, (skills.get(row.skill) ?? 0) + 1);
  }
  return skills;
}
