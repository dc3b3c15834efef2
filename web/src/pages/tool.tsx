import { type FormEvent, useState } from 'react';
import { type Json, serverPath, type Tool } from '../api.ts';
import { callTool, type Progress, type Question, toMcpRequest } from '../mcp-call.ts';
import { useAction } from '../parts/action.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Empty, Failure, Loading, Notice } from '../parts/notice.tsx';
import { Questions } from '../parts/questions.tsx';
import { ResultView } from '../parts/result-view.tsx';
import { readJson, SchemaForm } from '../parts/schema-form.tsx';
import { Scroll } from '../parts/scroll.tsx';
import { useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import { isObject, type Problems, type Schema, startValue, toRows, validate } from '../schema.ts';
import { useSession } from '../session.ts';
import { duration } from '../words.ts';

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
      <p className="lines">{tool.description || 'No description.'}</p>
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
      <div className="columns">
        <section>
          <h2>Call</h2>
          <CallForm tool={tool} />
        </section>
        <section>
          <h2>Arguments</h2>
          <SchemaTable schema={tool.input_schema as Schema} />
        </section>
      </div>
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

interface Answer {
  result: Json;
  ms: number;
}

function CallForm({ tool }: { tool: Tool }) {
  const schema = tool.input_schema as Schema;
  const { role } = useSession();
  const [value, setValue] = useState<Json>(() => startObject(schema));
  const [raw, setRaw] = useState<string>();
  const [problems, setProblems] = useState<Problems>({});
  const [progress, setProgress] = useState<Progress>();
  const [asked, setAsked] = useState<{ questions: Question[]; answer: (answers: Json) => void }>();
  const [answer, setAnswer] = useState<Answer>();
  const { running, error, run, cancel } = useAction();

  const args = raw === undefined ? value : readJson(raw)?.value;
  const call = (event: FormEvent) => {
    event.preventDefault();
    const found = isObject(args) ? validate(args, schema) : { '': 'is not a JSON object' };
    setProblems(found);
    if (Object.keys(found).length > 0 || !isObject(args)) return;
    setAnswer(undefined);
    setProgress(undefined);
    void run(async (signal) => {
      const started = performance.now();
      const result = await callTool(tool.wire_name, args, {
        signal,
        onProgress: setProgress,
        onQuestions: (questions) =>
          new Promise((resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true });
            setAsked({
              questions,
              answer(answers) {
                setAsked(undefined);
                resolve(answers);
              },
            });
          }),
      });
      setAnswer({ result, ms: performance.now() - started });
    });
  };

  return (
    <>
      <form onSubmit={call} noValidate>
        {raw === undefined ? (
          <SchemaForm schema={schema} value={value} problems={problems} onChange={setValue} />
        ) : (
          <div className="field">
            <label htmlFor="raw">Arguments as JSON</label>
            <textarea
              id="raw"
              className="code"
              rows={10}
              spellCheck={false}
              value={raw}
              onChange={(event) => setRaw(event.target.value)}
            />
          </div>
        )}
        <ProblemList problems={problems} all={raw !== undefined} />
        {role === 'viewer' && (
          <Notice tone="info">Your token cannot call tools. Sign in with a token of the role caller.</Notice>
        )}
        <div className="actions">
          <button type="submit" className="primary" disabled={running || role === 'viewer'}>
            {running ? 'Calling…' : 'Call'}
          </button>
          {running && (
            <button
              type="button"
              onClick={() => {
                setAsked(undefined);
                cancel();
              }}
            >
              Cancel
            </button>
          )}
          <button
            type="button"
            className="quiet"
            onClick={() => {
              if (raw === undefined) return setRaw(JSON.stringify(value, null, 2));
              if (isObject(args)) setValue(args);
              setRaw(undefined);
            }}
          >
            {raw === undefined ? 'Write JSON' : 'Use the form'}
          </button>
        </div>
      </form>
      {running && <Running progress={progress} />}
      {asked !== undefined && <Questions questions={asked.questions} onAnswer={asked.answer} />}
      <Failure error={error} />
      {answer !== undefined && (
        <section aria-label="Answer" aria-live="polite">
          <h2>
            Answer <span className="dim">after {duration(answer.ms)}</span>
          </h2>
          <ResultView result={answer.result} />
        </section>
      )}
      <div className="actions copies">
        <span className="dim">Copy as</span>
        <CopyButton text={() => toCurl(tool, args)}>curl</CopyButton>
        <CopyButton text={() => JSON.stringify(toMcpRequest(tool.wire_name, asObject(args)), null, 2)}>
          MCP request
        </CopyButton>
        <CopyButton text={() => `mcp-aggregator call ${tool.name} ${quoted(JSON.stringify(asObject(args)))}`}>
          command
        </CopyButton>
      </div>
    </>
  );
}

function ProblemList({ problems, all }: { problems: Problems; all: boolean }) {
  const entries = Object.entries(problems);
  if (entries.length === 0) return null;
  return (
    <Notice tone="bad">
      {all ? (
        <ul>
          {entries.map(([path, problem]) => (
            <li key={path}>
              {path} {problem}
            </li>
          ))}
        </ul>
      ) : (
        `Nothing was sent: ${entries.map(([path, problem]) => `${path} ${problem}`).join('; ')}`
      )}
    </Notice>
  );
}

function Running({ progress }: { progress: Progress | undefined }) {
  return (
    <div className="running" role="status">
      <progress
        max={progress?.total}
        value={progress?.total === undefined ? undefined : progress.progress}
        aria-label="Progress"
      />
      <span className="dim">
        {progress === undefined
          ? 'Waiting for the answer'
          : (progress.message ?? `${progress.progress}${progress.total === undefined ? '' : ` of ${progress.total}`}`)}
      </span>
    </div>
  );
}

function startObject(schema: Schema): Json {
  const start = startValue(schema, schema);
  return isObject(start) ? start : {};
}

const asObject = (value: unknown): Json => (isObject(value) ? value : {});
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function toCurl(tool: Tool, args: unknown): string {
  const body = JSON.stringify({ name: tool.name, arguments: asObject(args) });
  return [
    `curl -X POST ${window.location.origin}/api/v1/tools/call`,
    `-H "Authorization: Bearer $MCP_AGGREGATOR_TOKEN"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(body)}`,
  ].join(' \\\n  ');
}
