import { lazy, Suspense, useCallback, useEffect, useState } from 'react';
import { ApiError, api, type Session, whenSignedOut } from './api.ts';
import { OverviewPage } from './pages/overview.tsx';
import { SignInPage } from './pages/sign-in.tsx';
import { Empty, Failure, Loading } from './parts/notice.tsx';
import { PageBoundary } from './parts/page-boundary.tsx';
import { resources } from './resource.ts';
import { linkTo, type Place, usePlace } from './route.ts';
import { SessionContext } from './session.ts';
import { Shell } from './shell.tsx';

const AccessPage = lazy(async () => ({ default: (await import('./pages/access.tsx')).AccessPage }));
const AddServerPage = lazy(async () => ({ default: (await import('./pages/add-server.tsx')).AddServerPage }));
const ConnectPage = lazy(async () => ({ default: (await import('./pages/connect.tsx')).ConnectPage }));
const PromptPage = lazy(async () => ({ default: (await import('./pages/prompts.tsx')).PromptPage }));
const QueryPage = lazy(async () => ({ default: (await import('./pages/query.tsx')).QueryPage }));
const ResourcePage = lazy(async () => ({ default: (await import('./pages/resources.tsx')).ResourcePage }));
const ServerPage = lazy(async () => ({ default: (await import('./pages/server.tsx')).ServerPage }));
const ServersPage = lazy(async () => ({ default: (await import('./pages/servers.tsx')).ServersPage }));
const SettingsPage = lazy(async () => ({ default: (await import('./pages/settings.tsx')).SettingsPage }));
const ToolPage = lazy(async () => ({ default: (await import('./pages/tool.tsx')).ToolPage }));
const ToolsPage = lazy(async () => ({ default: (await import('./pages/tools.tsx')).ToolsPage }));
const TrafficPage = lazy(async () => ({ default: (await import('./pages/traffic.tsx')).TrafficPage }));

/** undefined: not known yet; null: not signed in. */
type Known = Session | null | undefined;

export function App() {
  const place = usePlace();
  const [session, setSession] = useState<Known>();
  const [error, setError] = useState<ApiError>();
  const signingIn = place.parts[0] === 'sign-in';

  const signedOut = useCallback(() => {
    // The next user must not see what this one may.
    resources.clear();
    setSession(null);
  }, []);

  useEffect(() => {
    whenSignedOut(signedOut);
    // A sign-in link starts a new session.
    if (signingIn) return;
    api<Session | undefined>('GET', '/api/v1/session').then(
      (known) => setSession(known ?? null),
      (failure: unknown) => setError(failure instanceof ApiError ? failure : undefined),
    );
  }, [signingIn, signedOut]);

  if (error !== undefined) return <Failure error={error} retry={() => window.location.reload()} />;
  if (signingIn || session === null) {
    const wanted = signingIn ? (place.query.get('place') ?? '') : window.location.hash.replace(/^#\/?/, '');
    const begin = (begun: Session) => {
      setSession(begun);
      if (signingIn) window.location.hash = `#/${wanted}`;
    };
    return <SignInPage code={signingIn ? place.query.get('code') : null} place={wanted} onSignedIn={begin} />;
  }
  if (session === undefined) return <Loading />;
  return (
    <SessionContext value={session}>
      <Shell place={place} onSignedOut={signedOut}>
        <PageBoundary key={place.parts[0]}>
          <Suspense fallback={<Loading />}>
            <CurrentPage place={place} />
          </Suspense>
        </PageBoundary>
      </Shell>
    </SessionContext>
  );
}

function CurrentPage({ place: { parts } }: { place: Place }) {
  const [section = '', name, tab] = parts;
  switch (section) {
    case '':
    case 'health': // its former address
      return <OverviewPage />;
    case 'servers':
      if (name === undefined) return <ServersPage />;
      return name === '+' ? <AddServerPage /> : <ServerPage key={name} name={name} tab={tab} />;
    case 'tools':
      return name === undefined ? <ToolsPage /> : <ToolPage key={name} name={name} />;
    case 'resources':
      if (name === undefined || tab === undefined) return <ToolsPage />;
      return <ResourcePage key={tab} server={name} uri={tab} />;
    case 'prompts':
      if (name === undefined || tab === undefined) return <ToolsPage />;
      return <PromptPage key={tab} server={name} name={tab} />;
    case 'query':
      return <QueryPage />;
    case 'traffic':
      return <TrafficPage view={name} />;
    case 'access':
      return <AccessPage tab={name} />;
    case 'settings':
      return <SettingsPage tab={name} />;
    case 'connect':
      return <ConnectPage />;
    default:
      return (
        <Empty page title="Page not found">
          <a href={linkTo()}>Overview</a>
        </Empty>
      );
  }
}
