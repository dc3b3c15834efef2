/** What a new installation needs, on the overview until it is done: a server, a first call, a client. */
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { type AnswerOf, api, type Json, type ServerList, serverPath, serversPath, type Tool } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { serverEvents, useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import { useIsBound, useIsUnboundAdmin, useSession } from '../session.ts';
import { useStatistics } from '../statistics.ts';
import { count } from '../words.ts';
import styles from './first-steps.module.css';

const FoundServers = lazy(async () => ({ default: (await import('./add-server.tsx')).Found }));
const ResultView = lazy(async () => ({ default: (await import('../parts/result-view.tsx')).ResultView }));

const month = { seconds: 2_592_000, step: 86_400 };

export function FirstSteps() {
  const { data: list } = useResource<ServerList>(`${serversPath}?limit=1000`, { on: serverEvents });
  const isBound = useIsBound();
  const { data: calls, reload } = useStatistics(isBound ? null : month, { by: 'client' });
  if (list === undefined || calls === undefined) return null;
  const hasServer = list.total > 0;
  const hasCall = calls.total.calls > 0;
  const hasClient = calls.series?.some(({ client }) => client != null) === true;
  if (hasServer && hasCall && hasClient) return null;
  const connected = list.servers.find(({ status, tool_count }) => status === 'CONNECTED' && tool_count > 0);
  const current = hasServer ? (hasCall ? 3 : 2) : 1;
  return (
    <section aria-label="First steps" className={styles.steps}>
      <Step
        number={1}
        title="Add a server"
        current={current}
        done={hasServer && `${count(list.total, 'server')} added`}
      >
        <AddServer />
      </Step>
      <Step
        number={2}
        title="Try a tool"
        current={current}
        done={hasCall && `${count(calls.total.calls, 'call')} made`}
      >
        {connected === undefined ? (
          <p className="dim">As soon as a server is connected, its tools can be called here.</p>
        ) : (
          <TryTool server={connected.name} onCalled={reload} />
        )}
      </Step>
      <Step number={3} title="Connect a client" current={current} done={hasClient && 'A client has called'}>
        <ConnectClient />
      </Step>
    </section>
  );
}

function Step({
  number,
  title,
  current,
  done,
  children,
}: {
  number: number;
  title: string;
  current: number;
  done: string | false;
  children: ReactNode;
}) {
  return (
    <div className={styles.step} data-done={done !== false}>
      <h2>
        <span className={styles.number}>{done === false ? number : '✓'}</span> {title}
        {done !== false && <span className={styles.done}>{done}</span>}
      </h2>
      {done === false && current >= number && children}
    </div>
  );
}

function AddServer() {
  const mayAdd = useIsUnboundAdmin();
  if (!mayAdd) return <p className="dim">An admin can add servers.</p>;
  return (
    <>
      <p>Import the servers of Claude, Cursor or VS Code, or add one manually.</p>
      <Suspense fallback={<Loading />}>
        <FoundServers />
      </Suspense>
      <a className="button" href={linkTo('servers', '+')}>
        Add manually
      </a>
    </>
  );
}

function TryTool({ server, onCalled }: { server: string; onCalled: () => void }) {
  const { role } = useSession();
  const { data } = useResource<{ tools: Tool[] }>(`${serverPath(server)}/tools`);
  const { running, error, run } = useAction();
  const [result, setResult] = useState<Json>();
  const tool = data?.tools.filter(({ enabled }) => enabled).sort((a, b) => needed(a) - needed(b))[0];
  if (tool === undefined) return <Loading />;
  const open = (
    <a className="button" href={linkTo('tools', tool.name)}>
      Open {tool.name}
    </a>
  );
  if (needed(tool) > 0 || role === 'viewer') return open;
  const call = () =>
    run(async () => {
      type Called = AnswerOf<'postToolsCall'>;
      const called = await api<Called>('POST', '/api/v1/tools/call', { name: tool.name, arguments: {} });
      setResult(called);
      onCalled();
    });
  return (
    <>
      <p>{tool.description.slice(0, 200)}</p>
      <div className="actions">
        <button type="button" className="primary" disabled={running} onClick={() => void call()}>
          Call {tool.original_name}
        </button>
        {open}
      </div>
      <Failure error={error} />
      {result !== undefined && (
        <Suspense fallback={<Loading />}>
          <ResultView result={result} />
        </Suspense>
      )}
    </>
  );
}

function needed({ input_schema: { required } }: Tool): number {
  return Array.isArray(required) ? required.length : 0;
}

function ConnectClient() {
  const command = 'mcp-aggregator connect-client claude-code';
  return (
    <>
      <p>One command adds the gateway to a client on this computer:</p>
      <p className={styles.command}>
        <code>{command}</code> <CopyButton text={command} />
      </p>
      <p className="dim" role="status">
        Waiting for the first call of a client… <a href={linkTo('connect')}>Other clients and other computers</a>
      </p>
    </>
  );
}
