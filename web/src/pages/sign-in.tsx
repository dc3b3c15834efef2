import { useEffect, useRef, useState } from 'react';
import { api, type Session } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { Failure, Loading } from '../parts/notice.tsx';

export function SignInPage({ code, onSignedIn }: { code: string | null; onSignedIn: (session: Session) => void }) {
  const [token, setToken] = useState('');
  const { running, error, run } = useAction();
  const used = useRef(false);

  useEffect(() => {
    if (code === null || used.current) return;
    used.current = true;
    // The link is worth nothing once it was used, but nobody needs to see it in the history.
    window.history.replaceState(null, '', '#/sign-in');
    void run(async () => onSignedIn(await api<Session>('POST', '/api/v1/session', { code })));
  }, [code, run, onSignedIn]);

  return (
    <main className="sign-in">
      <h1>
        <img src="/favicon.svg" alt="" width="40" height="40" /> mcp-aggregator
      </h1>
      {running && code !== null ? (
        <Loading what="Signing in" />
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void run(async () => onSignedIn(await api<Session>('POST', '/api/v1/session', { token })));
          }}
        >
          <div className="field">
            <label htmlFor="token">Token</label>
            <input
              id="token"
              type="password"
              required
              autoComplete="off"
              value={token}
              onChange={(event) => setToken(event.target.value)}
            />
          </div>
          <Failure error={error} />
          <button type="submit" className="primary" disabled={running}>
            Sign in
          </button>
          <p className="help">
            On the aggregator's machine, <code>mcp-aggregator open</code> signs you in without typing. The admin token
            is in the file <code>admin-token</code> of the data directory.
          </p>
        </form>
      )}
    </main>
  );
}
