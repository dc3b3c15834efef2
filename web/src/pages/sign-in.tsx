import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, api, type Session, type WaysIn } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { Failure, Loading } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';

type Person = Pick<Session, 'name' | 'role'>;

/** The browser has a session of another user than the link. */
interface Conflict {
  code: string;
  current: Person;
  other: Person;
}

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
  const [conflict, setConflict] = useState<Conflict>();

  const redeem = useCallback(
    (from: string, replace: boolean) =>
      run(async () => {
        try {
          onSignedIn(await api<Session>('POST', '/api/v1/session', { code: from, replace }));
        } catch (failure) {
          if (!(failure instanceof ApiError) || failure.code !== 'SIGNED_IN_AS_ANOTHER') throw failure;
          const { signed_in_as, link_signs_in } = failure.context;
          setConflict({ code: from, current: signed_in_as as Person, other: link_signs_in as Person });
        }
      }),
    [run, onSignedIn],
  );

  useEffect(() => {
    if (code === null || used.current) return;
    used.current = true;
    // A used link is invalid, but it should not stay in the browser history.
    window.history.replaceState(null, '', `#/sign-in?${new URLSearchParams({ place })}`);
    void redeem(code, false);
  }, [code, place, redeem]);

  if (conflict !== undefined && error === undefined) {
    const { current, other } = conflict;
    return (
      <main className="sign-in">
        <h1>Sign in as another user?</h1>
        <p>
          You are signed in as <strong>{current.name}</strong> ({current.role}). This link signs you in as{' '}
          <strong>{other.name}</strong> ({other.role}). If you did not ask for the link, stay signed in.
        </p>
        <a className="button primary" href={`#/${place}`}>
          Stay signed in as {current.name}
        </a>
        <button type="button" disabled={running} onClick={() => void redeem(conflict.code, true)}>
          Sign in as {other.name}
        </button>
      </main>
    );
  }
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
              On the host of the aggregator, <code>mcp-aggregator open</code> opens the dashboard signed in. The admin
              token is in the file <code>admin-token</code> of the data directory.
            </p>
          </form>
        </>
      )}
    </main>
  );
}
