import { type FormEvent, useState } from 'react';
import { api, type Json } from '../api.ts';
import { useHas } from '../features.ts';
import { useAction } from '../parts/action.ts';
import { looksLikeMarkdown, Markdown, SafeLink } from '../parts/markdown.tsx';
import { Empty, Failure, Loading, Notice } from '../parts/notice.tsx';
import { linkTo } from '../route.ts';
import { count, duration } from '../words.ts';

interface Source {
  server: string;
  tool: string;
  title?: string;
  link?: string;
}

interface QueryAnswer {
  results: {
    content: string;
    server: string;
    tool?: string;
    title?: string;
    link?: string;
    relevanceScore: number;
    rank: number;
    sources?: Source[];
  }[];
  metadata: {
    serversQueried: number;
    serversSucceeded: number;
    totalResultsRaw?: number;
    totalResultsDedup?: number;
    processingTimeMs: number;
    chosenBy?: string;
    tokensRaw?: number;
    tokensReturned?: number;
    warnings?: string[];
    servers?: { server: string; ok: boolean; ms: number; items: number; error?: string }[];
    skipped?: { server: string; reason: string }[];
  };
  plan?: {
    server: string;
    calls: { tool: string; arguments: Json; reason: string }[];
    leftOut: { tool: string; reason: string }[];
  }[];
}

const path = '/api/v1/query';

export function QueryPage() {
  const can = useHas(path);
  const [query, setQuery] = useState('');
  const [plan, setPlan] = useState<QueryAnswer>();
  const [answer, setAnswer] = useState<QueryAnswer>();
  const { running, error, run, cancel } = useAction();
  if (can === false) {
    return (
      <>
        <h1>Query</h1>
        <Empty title="This aggregator has no query">
          <p>
            <a href={linkTo('tools')}>Search for a tool</a> and call it instead.
          </p>
        </Empty>
      </>
    );
  }
  const ask = (event: FormEvent) => {
    event.preventDefault();
    setPlan(undefined);
    setAnswer(undefined);
    void run(async (signal) => {
      setPlan(await api<QueryAnswer>('POST', path, { query, explain: true }, signal));
      setAnswer(await api<QueryAnswer>('POST', path, { query }, signal));
    });
  };
  return (
    <>
      <h1>Query</h1>
      <p>One question to all servers that may know: planned, asked side by side, ranked, without repetitions.</p>
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
      {plan !== undefined && <Plan plan={plan} answer={answer} running={running} />}
      {running && <Loading what={plan === undefined ? 'Choosing servers' : 'Asking'} />}
      {answer !== undefined && <Results answer={answer} />}
    </>
  );
}

function Plan({ plan, answer, running }: { plan: QueryAnswer; answer: QueryAnswer | undefined; running: boolean }) {
  const reports = new Map(answer?.metadata.servers?.map((report) => [report.server, report]));
  return (
    <section>
      <h2>Plan</h2>
      <ul className="plan">
        {(plan.plan ?? []).map(({ server, calls }) => {
          const report = reports.get(server);
          return (
            <li key={server}>
              <p>
                <strong>{server}</strong>{' '}
                {report === undefined ? (
                  running && <span className="badge busy">asking</span>
                ) : report.ok ? (
                  <span className="badge good">
                    {count(report.items, 'item')} in {duration(report.ms)}
                  </span>
                ) : (
                  <span className="badge bad">{report.error ?? 'failed'}</span>
                )}
              </p>
              {calls.map((call) => (
                <p className="dim" key={`${call.tool} ${JSON.stringify(call.arguments)}`}>
                  <code>
                    {call.tool} {JSON.stringify(call.arguments)}
                  </code>{' '}
                  {call.reason}
                </p>
              ))}
            </li>
          );
        })}
      </ul>
      {(plan.metadata.skipped ?? []).map(({ server, reason }) => (
        <p className="dim" key={server}>
          {server} is left out: {reason}
        </p>
      ))}
    </section>
  );
}

function Results({ answer: { results, metadata } }: { answer: QueryAnswer }) {
  const { tokensRaw, tokensReturned, totalResultsRaw = 0, totalResultsDedup = totalResultsRaw } = metadata;
  const folded = totalResultsRaw - totalResultsDedup;
  return (
    <section aria-live="polite">
      <h2>{count(results.length, 'result')}</h2>
      <p className="summary">
        From {metadata.serversSucceeded} of {count(metadata.serversQueried, 'server')} in{' '}
        {duration(metadata.processingTimeMs)}
        {folded > 0 && `, ${count(folded, 'repetition')} folded`}
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
      {results.length === 0 && <Empty title="Nobody knows anything about it" />}
      <ol className="results">
        {results.map((result) => (
          <li key={result.rank} className="card">
            <p>
              <strong>
                {result.link === undefined ? (
                  (result.title ?? `Result ${result.rank}`)
                ) : (
                  <SafeLink href={result.link} text={result.title ?? result.link} />
                )}
              </strong>{' '}
              <span className="dim">{(result.relevanceScore * 100).toFixed(0)} %</span>
            </p>
            <div className="excerpt">
              {looksLikeMarkdown(result.content) ? (
                <Markdown text={result.content} />
              ) : (
                <p className="lines">{result.content}</p>
              )}
            </div>
            <p className="dim">{sourcesOf(result).join(', ')}</p>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Each server and tool once, however often it gave the same. */
function sourcesOf({ sources, server, tool = '' }: QueryAnswer['results'][number]): string[] {
  const all = sources ?? [{ server, tool }];
  return [...new Set(all.map((source) => [source.server, source.tool].filter(Boolean).join(' · ')))];
}
