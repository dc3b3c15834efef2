import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { ApiError, api, type Health, type Session, whenSignedOut } from './api.ts';
import { liveState, startLive } from './live.ts';
import { AccessPage } from './pages/access.tsx';
import { AddServerPage } from './pages/add-server.tsx';
import { ConnectPage } from './pages/connect.tsx';
import { HealthPage } from './pages/health.tsx';
import { QueryPage } from './pages/query.tsx';
import { ServerPage } from './pages/server.tsx';
import { ServersPage } from './pages/servers.tsx';
import { SignInPage } from './pages/sign-in.tsx';
import { ToolPage } from './pages/tool.tsx';
import { ToolsPage } from './pages/tools.tsx';
import { TrafficPage } from './pages/traffic.tsx';
import { Empty, Failure, Loading, Notice } from './parts/notice.tsx';
import { useResource } from './resource.ts';
import { linkTo, type Place, usePlace } from './route.ts';
import { SessionContext } from './session.ts';
import { applyTheme, currentTheme, type Theme, themes } from './theme.ts';

const sections = [
  { path: 'servers', name: 'Servers' },
  { path: 'tools', name: 'Tools' },
  { path: 'query', name: 'Query' },
  { path: 'traffic', name: 'Traffic' },
  { path: 'health', name: 'Health' },
  { path: 'access', name: 'Access' },
  { path: 'connect', name: 'Connect' },
];

/** undefined: not known yet; null: not signed in. */
type Known = Session | null | undefined;

export function App() {
  const place = usePlace();
  const [session, setSession] = useState<Known>();
  const [error, setError] = useState<ApiError>();
  const signingIn = place.parts[0] === 'sign-in';

  useEffect(() => {
    whenSignedOut(() => setSession(null));
    // A sign-in link starts a new session.
    if (signingIn) return;
    api<Session | undefined>('GET', '/api/v1/session').then(
      (known) => setSession(known ?? null),
      (failure: unknown) => setError(failure instanceof ApiError ? failure : undefined),
    );
  }, [signingIn]);

  if (error !== undefined) return <Failure error={error} retry={() => window.location.reload()} />;
  if (signingIn || session === null) {
    const wanted = signingIn ? (place.query.get('place') ?? '') : window.location.hash.replace(/^#\/?/, '');
    const begin = (begun: Session) => {
      setSession(begun);
      if (signingIn) window.location.hash = `#/${wanted === '' ? 'servers' : wanted}`;
    };
    return <SignInPage code={signingIn ? place.query.get('code') : null} place={wanted} onSignedIn={begin} />;
  }
  if (session === undefined) return <Loading />;
  return (
    <SessionContext value={session}>
      <Shell place={place} onSignedOut={() => setSession(null)} />
    </SessionContext>
  );
}

function Shell({ place, onSignedOut }: { place: Place; onSignedOut: () => void }) {
  const section = place.parts[0] ?? 'servers';
  const live = useSyncExternalStore(liveState.subscribe, liveState.get);
  const main = useRef<HTMLElement>(null);
  const path = place.parts.join('/');
  const shownPath = useRef(path);
  useEffect(startLive, []);
  useEffect(() => {
    document.title = `${sections.find((each) => each.path === section)?.name ?? 'Servers'} – mcp-aggregator`;
    // Like a page that was loaded: from the top, and a screen reader begins there.
    if (shownPath.current === path) return;
    shownPath.current = path;
    main.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [section, path]);

  const signOut = async () => {
    await api('DELETE', '/api/v1/session');
    onSignedOut();
  };
  return (
    <div className="shell">
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header className="side">
        <p className="brand">
          <img src="/favicon.svg" alt="" width="24" height="24" /> mcp-aggregator
        </p>
        <nav aria-label="Sections">
          {sections.map(({ path: target, name }) => (
            <a key={target} href={linkTo(target)} aria-current={section === target ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <div className="foot">
          <p className={`live ${live}`} role="status">
            {live === 'live' ? 'Live' : live === 'lost' ? 'Connection lost, reconnecting' : 'Connecting'}
          </p>
          <ThemeChoice />
          <button type="button" className="small quiet" onClick={signOut}>
            Sign out
          </button>
        </div>
      </header>
      <main ref={main} tabIndex={-1} id="main">
        <SafeMode />
        <CurrentPage place={place} />
      </main>
    </div>
  );
}

/** Explains on every page why all servers are disconnected. */
function SafeMode() {
  const { data } = useResource<Health>('/api/v1/aggregator/health');
  if (data?.safe_mode === undefined) return null;
  const text = data.safe_mode;
  return (
    <Notice tone="warn">
      <p>{`${text.charAt(0).toUpperCase()}${text.slice(1)}.`}</p>
    </Notice>
  );
}

function CurrentPage({ place: { parts, query } }: { place: Place }) {
  const [section = 'servers', name] = parts;
  switch (section) {
    case 'servers':
      if (name === undefined) return <ServersPage />;
      return name === '+' ? <AddServerPage /> : <ServerPage key={name} name={name} />;
    case 'tools':
      return name === undefined ? (
        <ToolsPage initialServer={query.get('server') ?? ''} />
      ) : (
        <ToolPage key={name} name={name} />
      );
    case 'query':
      return <QueryPage />;
    case 'traffic':
      return <TrafficPage />;
    case 'health':
      return <HealthPage />;
    case 'access':
      return <AccessPage />;
    case 'connect':
      return <ConnectPage />;
    default:
      return (
        <Empty page title="Page not found">
          <a href={linkTo('servers')}>Go to the servers</a>
        </Empty>
      );
  }
}

function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(currentTheme);
  return (
    <label className="theme">
      Theme
      <select
        value={theme}
        onChange={(event) => {
          const chosen = themes.find((each) => each === event.target.value) ?? 'auto';
          setTheme(chosen);
          applyTheme(chosen);
        }}
      >
        {themes.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}
