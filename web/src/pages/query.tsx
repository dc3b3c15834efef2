import { type FormEvent, useState } from 'react';
import { type AnswerOf, apiEvents } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Markdown, SafeLink } from '../parts/markdown.tsx';
import { looksLikeMarkdown } from '../parts/markdown-blocks.ts';
import { Empty, Failure, Loading, Notice } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { linkTo, useParameter } from '../route.ts';
import { count, duration } from '../words.ts';

type QueryAnswer = AnswerOf<'postQuery'>;
type ServerReport = NonNullable<QueryAnswer['metadata']['servers']>[number];
type PlannedServer = NonNullable<QueryAnswer['plan']>[number];

export function QueryPage() {
  const [query, setQuery] = useParameter('q');
  const [plan, setPlan] = useState<QueryAnswer>();
  const [reports, setReports] = useState<ReadonlyMap<string, ServerReport>>(new Map());
  const [answer, setAnswer] = useState<QueryAnswer>();
  const { running, error, run, cancel } = useAction();
  const ask = (event: FormEvent) => {
    event.preventDefault();
    setPlan(undefined);
    setReports(new Map());
    setAnswer(undefined);
    void run((signal) =>
      apiEvents('/api/v1/query', { query, compact: false }, signal, (name, data) => {
        if (name === 'plan') setPlan(data as QueryAnswer);
        if (name === 'result') setAnswer(data as QueryAnswer);
        if (name !== 'server') return;
        const report = data as ServerReport;
        setReports((before) => new Map(before).set(report.server, report));
      }),
    );
  };
  return (
    <Page
      title="Query"
      lead="Ask all connected servers at once. Only read-only tools and resources are used, in a way that fits each server. The results are merged into one ranked list."
    >
      <form onSubmit={ask} className="bar">
        <div className="field grow">
          <label htmlFor="question">Question</label>
          <input
            id="question"
            type="search"
            required
            value={query}
            placeholder="What do we know about …?"
            onChange={(event) => setQuery(event.target.value)}
          />
        </div>
        <button type="submit" className="primary" disabled={running || query.trim() === ''}>
          Ask
        </button>
        {running && (
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        )}
      </form>
      <Failure error={error} />
      {running && plan === undefined && <Loading what="Choosing servers" />}
      {answer !== undefined && <Results answer={answer} />}
      {plan !== undefined && <Plan plan={plan} reports={reports} running={running} end={endOf(answer, error)} />}
    </Page>
  );
}

function endOf(answer: QueryAnswer | undefined, error: Error | undefined): 'answered' | 'failed' | undefined {
  if (answer !== undefined) return 'answered';
  return error === undefined ? undefined : 'failed';
}

function Plan({
  plan: { plan = [], metadata },
  reports,
  running,
  end,
}: {
  plan: QueryAnswer;
  reports: ReadonlyMap<string, ServerReport>;
  running: boolean;
  end: 'answered' | 'failed' | undefined;
}) {
  const asked = plan.filter(({ strategy }) => strategy.length > 0);
  // A rule may name servers that cannot be asked: they failed before they were in a plan.
  const absent = [...reports.keys()].filter((name) => asked.every(({ server }) => server !== name));
  const servers = [...asked, ...absent.map((server) => ({ server, strategy: [], calls: [] }))];
  const answered = servers.filter(({ server }) => reports.has(server)).length;
  const skipped = metadata.skipped ?? [];
  const notAsked = [
    ...skipped,
    ...plan
      .filter(({ server, strategy }) => strategy.length === 0 && skipped.every((other) => other.server !== server))
      .map(({ server }) => ({ server, reason: 'none of its tools and resources can be used for a query' })),
  ];
  return (
    <>
      {servers.length > 0 && (
        <section>
          <h2>How the servers are queried</h2>
          {end !== 'answered' && (
            <div className="running" role="status">
              <progress max={servers.length} value={answered} aria-label="Finished servers" />
              <span className="dim">
                {answered} of {count(servers.length, 'server')} done
                {running && answered === servers.length && ', ranking'}
                {!running && end === undefined && ', then cancelled'}
              </span>
            </div>
          )}
          <ul className="plan" aria-label="Servers">
            {servers.map((server) => (
              <AskedServer key={server.server} planned={server} report={reports.get(server.server)} running={running} />
            ))}
          </ul>
        </section>
      )}
      {notAsked.length > 0 && <NotAsked servers={notAsked} plan={plan} />}
    </>
  );
}

type Planned = Pick<PlannedServer, 'server' | 'strategy' | 'calls'> & Partial<Pick<PlannedServer, 'leftOut'>>;

function AskedServer({
  planned: { server, strategy, calls, leftOut = [] },
  report,
  running,
}: {
  planned: Planned;
  report: ServerReport | undefined;
  running: boolean;
}) {
  return (
    <li>
      <p>
        <a href={linkTo('servers', server)}>
          <strong>{server}</strong>
        </a>{' '}
        <ServerProgress report={report} running={running} />
      </p>
      {strategy.map((sentence) => (
        <p className="dim" key={sentence}>
          {sentence}
        </p>
      ))}
      {report !== undefined && report.calls.length > 0 ? (
        <MadeCalls calls={report.calls} />
      ) : (
        calls.length > 0 && <FirstCalls calls={calls} />
      )}
      {leftOut.length > 0 && <LeftOut tools={leftOut} />}
    </li>
  );
}

function FirstCalls({ calls }: { calls: PlannedServer['calls'] }) {
  return (
    <details>
      <summary>First calls</summary>
      {calls.map((call) => (
        <p className="dim" key={`${call.tool} ${JSON.stringify(call.arguments)}`}>
          <code>
            {call.tool} {JSON.stringify(call.arguments)}
          </code>{' '}
          {call.reason}
        </p>
      ))}
    </details>
  );
}

function MadeCalls({ calls }: { calls: ServerReport['calls'] }) {
  const total = calls.reduce((sum, { count: times }) => sum + times, 0);
  return (
    <details>
      <summary>{count(total, 'call')}</summary>
      <ul>
        {calls.map(({ tool, count: times, ms, items, error, truncated }) => (
          <li key={tool}>
            <code>{tool}</code> × {times}: {count(items, 'item')}
            {times > 1 ? `, the slowest after ${duration(ms)}` : ` after ${duration(ms)}`}
            {truncated === true && ', cut at the memory limit'}
            {error !== undefined && <span className="bad-text">, {error}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Why tools are never called by a query. */
function LeftOut({ tools }: { tools: PlannedServer['leftOut'] }) {
  return (
    <details>
      <summary>{count(tools.length, 'tool')} not used</summary>
      <ul>
        {tools.map(({ tool, reason }) => (
          <li key={tool}>
            <code>{tool}</code>: {reason}
          </li>
        ))}
      </ul>
    </details>
  );
}

function NotAsked({ servers, plan }: { servers: { server: string; reason: string }[]; plan: PlannedServer[] }) {
  const leftOut = (name: string) => plan.find(({ server }) => server === name)?.leftOut ?? [];
  return (
    <section>
      <h2>Not asked</h2>
      <ul className="plan" aria-label="Servers that were not asked">
        {servers.map(({ server, reason }) => (
          <li key={server}>
            <p>
              <a href={linkTo('servers', server)}>
                <strong>{server}</strong>
              </a>
              : {reason}
            </p>
            {leftOut(server).length > 0 && <LeftOut tools={leftOut(server)} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function ServerProgress({ report, running }: { report: ServerReport | undefined; running: boolean }) {
  if (report === undefined) {
    return running ? <span className="badge busy">querying</span> : <span className="badge off">skipped</span>;
  }
  const { ok, items, relevant, ms, error = 'failed', resting = [] } = report;
  if (!ok) return <span className="badge bad">{ms === 0 ? error : `${error}, after ${duration(ms)}`}</span>;
  return (
    <>
      <span className={relevant > 0 ? 'badge good' : 'badge off'}>
        {relevant > 0
          ? `${relevant} of ${count(items, 'item')} relevant`
          : `nothing relevant in ${count(items, 'item')}`}
        , {duration(ms)}
      </span>
      {resting.length > 0 && <span className="dim"> Paused after repeated failures: {resting.join(', ')}</span>}
    </>
  );
}

function Results({ answer: { results, metadata } }: { answer: QueryAnswer }) {
  const { tokensRaw, tokensReturned, totalResultsRaw = 0 } = metadata;
  return (
    <section aria-live="polite">
      <h2>{count(results.length, 'result')}</h2>
      <p className="summary">
        From {metadata.serversSucceeded} of {count(metadata.serversQueried, 'server')} in{' '}
        {duration(metadata.processingTimeMs)}
        {totalResultsRaw > results.length && `, out of ${count(totalResultsRaw, 'item')} read`}
        {tokensRaw !== undefined && tokensReturned !== undefined && (
          <>
            , {tokensRaw.toLocaleString('en-US')} tokens became {tokensReturned.toLocaleString('en-US')}
          </>
        )}
      </p>
      {(metadata.warnings ?? []).map((warning) => (
        <Notice key={warning} tone="warn">
          {warning}
        </Notice>
      ))}
      {results.length === 0 && <NoResults metadata={metadata} />}
      <ol className="results">
        {results.map((result) => (
          <Result key={result.rank} result={result} />
        ))}
      </ol>
    </section>
  );
}

function NoResults({ metadata: { serversQueried, totalResultsRaw = 0 } }: { metadata: QueryAnswer['metadata'] }) {
  if (serversQueried === 0) {
    return (
      <Empty title="No server could be asked">
        <p>
          A query uses read-only tools and resources, and none of the connected servers has one that fits. The reasons
          are listed below. <a href={linkTo('tools')}>Search for a tool</a> and call it instead.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No results">
      <p>{count(totalResultsRaw, 'item')} were read, none of which answers the question.</p>
    </Empty>
  );
}

function Result({ result }: { result: QueryAnswer['results'][number] }) {
  const { rank, title, link, relevanceScore, condensed } = result;
  const sources = sourcesOf(result);
  return (
    <li className="card">
      <p className="result-head">
        <strong>
          {rank}. {link === undefined ? (title ?? 'Untitled') : <SafeLink href={link}>{title ?? link}</SafeLink>}
        </strong>
        <span className="dim">{(relevanceScore * 100).toFixed(0)} % relevant</span>
        {condensed === true && <span className="tag">shortened</span>}
      </p>
      <Excerpt text={bodyOf(result)} />
      <p className="dim result-head">
        <span>
          From {sources.join(', ')}
          {sources.length > 1 && ' (same content)'}
        </span>
        <CopyButton text={result.content} />
      </p>
    </li>
  );
}

const longChars = 900;
const longLines = 10;

function Excerpt({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const long = text.length > longChars || text.split('\n').length > longLines;
  return (
    <>
      <div className={long && !whole ? 'excerpt cut' : 'excerpt'}>
        {looksLikeMarkdown(text) ? <Markdown text={text} /> : <p className="lines">{text}</p>}
      </div>
      {long && (
        <p>
          <button type="button" className="small" aria-expanded={whole} onClick={() => setWhole(!whole)}>
            {whole ? 'Show less' : 'Show all'}
          </button>
        </p>
      )}
    </>
  );
}

/** Many items begin with their title, which is shown above them. */
function bodyOf({ content, title }: QueryAnswer['results'][number]): string {
  const [first = '', ...rest] = content.split('\n');
  return rest.length > 0 && first.replace(/^#+\s*/, '').trim() === title ? rest.join('\n').trim() : content;
}

/** Each server and tool once, however often it gave the same. */
function sourcesOf({ sources, server, tool = '' }: QueryAnswer['results'][number]): string[] {
  const all = sources ?? [{ server, tool }];
  return [...new Set(all.map((source) => [source.server, source.tool].filter(Boolean).join(' · ')))];
}
