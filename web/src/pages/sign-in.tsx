import { useEffect, useRef, useState } from 'react';
import { api, type Session, type WaysIn } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { Failure, Loading } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';

interface Props {
  /** Of a one-time link. */
  code: string | null;
  /** Where to go on, as it stands after the "#/". */
  place: string;
  onSignedIn: (session: Session) => void;
}

export function SignInPage({ code, place, onSignedIn }: Props) {
  const [token, setToken] = useState('');
  const { running, error, run } = useAction();
  const ways = useResource<WaysIn>('/api/v1/session/ways');
  const provider = ways.data?.identity_provider;
  const used = useRef(false);

  useEffect(() => {
    if (code === null || used.current) return;
    used.current = true;
    // The link is worth nothing once it was used, but nobody needs to see it in the history.
    window.history.replaceState(null, '', `#/sign-in?${new URLSearchParams({ place })}`);
    void run(async () => onSignedIn(await api<Session>('POST', '/api/v1/session', { code })));
  }, [code, place, run, onSignedIn]);

  const byLink = code !== null || (running && token === '');
  return (
    <main className="sign-in">
      <h1>
        <img src="/favicon.svg" alt="" width="40" height="40" /> mcp-aggregator
      </h1>
      {(byLink && error === undefined) || ways.loading ? (
        <Loading what={byLink ? 'Signing in' : undefined} />
      ) : (
        <>
          {provider != null && provider.dashboard !== null && (
            <>
              <a className="button primary" href={`${provider.dashboard}?${new URLSearchParams({ place })}`}>
                Sign in with {new URL(provider.issuer).host}
              </a>
              <p className="or">or</p>
            </>
          )}
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
            <button type="submit" className={provider?.dashboard ? '' : 'primary'} disabled={running}>
              Sign in
            </button>
            <p className="help">
              On the aggregator's machine, <code>mcp-aggregator open</code> signs you in without typing. The admin token
              is in the file <code>admin-token</code> of the data directory.
            </p>
          </form>
        </>
      )}
    </main>
  );
}
