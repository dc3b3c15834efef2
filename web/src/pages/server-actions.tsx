import { useState } from 'react';
import { api, type Server, serverPath } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { Confirm } from '../parts/dialog.tsx';
import { say } from '../parts/messages.tsx';
import { Failure } from '../parts/notice.tsx';
import { resources } from '../resource.ts';
import { useIsUnboundAdmin, useSession } from '../session.ts';
import { count } from '../words.ts';

export const connectServer = (id: string) => api('POST', `${serverPath(id)}/connect`);

export async function disconnectServer({ id, name }: Pick<Server, 'id' | 'name'>): Promise<void> {
  await api('POST', `${serverPath(id)}/disconnect`, { force: false });
  say(`${name} is disconnected.`, { undo: () => connectServer(id) });
}

/** The login page is separate and shows the requested permissions before the user agrees. */
export async function logIn(idOrName: string): Promise<void> {
  const { login_url: url } = await api<{ login_url: string }>('POST', `${serverPath(idOrName)}/login`);
  window.open(url, '_blank', 'noopener');
}

/** What can be done with a server as it is now. */
export function ServerActions({
  server,
  pending,
  onRemoved,
}: {
  server: Server;
  /** Calls that a disconnection waits for. */
  pending: number;
  onRemoved?: () => void;
}) {
  const { running, error, run } = useAction();
  const [removing, setRemoving] = useState(false);
  const isAdmin = useIsUnboundAdmin();
  const { role } = useSession();
  const { id, name, status } = server;
  const start = (task: () => Promise<unknown>) => () =>
    void run(async () => {
      await task();
      await resources.invalidateQueries();
    });
  const loginButton = server.login !== null && role !== 'viewer' && (
    <button type="button" className="primary" disabled={running} onClick={start(() => logIn(id))}>
      Log in
    </button>
  );
  if (!isAdmin) return loginButton || null;
  const isOff = status === 'DISCONNECTED' || status === 'ERROR';
  const force = () => api('POST', `${serverPath(id)}/disconnect`, { force: true });
  return (
    <>
      <div className="actions">
        {loginButton}
        {isOff && (
          <button type="button" disabled={running} onClick={start(() => connectServer(id))}>
            Connect
          </button>
        )}
        {status === 'DISCONNECTING' && (
          <button type="button" disabled={running} onClick={start(force)}>
            {pending === 0 ? 'Disconnect now' : `Cancel ${count(pending, 'running call')} now`}
          </button>
        )}
        {status !== 'DISCONNECTED' && status !== 'DISCONNECTING' && (
          <button type="button" disabled={running} onClick={start(() => disconnectServer(server))}>
            Disconnect
          </button>
        )}
        <button type="button" className="quiet" disabled={running} onClick={() => setRemoving(true)}>
          Remove
        </button>
      </div>
      <Failure error={error} />
      {removing && (
        <ConfirmRemoval
          servers={[server]}
          onClose={() => setRemoving(false)}
          onConfirm={start(async () => {
            await api('DELETE', serverPath(id));
            say(`${name} is removed.`);
            onRemoved?.();
          })}
        />
      )}
    </>
  );
}

/** Credentials are deleted with a server, so it cannot be undone. */
export function ConfirmRemoval({
  servers,
  onClose,
  onConfirm,
}: {
  servers: readonly Server[];
  onClose: () => void;
  onConfirm: () => void;
}) {
  const tools = servers.reduce((sum, server) => sum + server.tool_count, 0);
  const [first] = servers;
  const what = servers.length === 1 && first !== undefined ? first.name : count(servers.length, 'server');
  return (
    <Confirm title={`Remove ${what}?`} action={`Remove ${what}`} onClose={onClose} onConfirm={onConfirm}>
      <p>
        {servers.length === 1 ? 'Its' : 'Their'} {count(tools, 'tool')}, history and stored credentials are deleted as
        well. Clients can no longer call these tools. This cannot be undone.
      </p>
    </Confirm>
  );
}
