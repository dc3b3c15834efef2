/** What surrounds every page: sections, search, connection state, theme, messages, keyboard shortcuts. */
import { type ReactNode, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { api, type Health } from './api.ts';
import { liveState, startLive } from './live.ts';
import { Messages } from './parts/messages.tsx';
import { Notice } from './parts/notice.tsx';
import { type Command, Palette } from './parts/palette.tsx';
import { RunningCalls } from './parts/running-calls.tsx';
import { useResource } from './resource.ts';
import { linkTo, type Place } from './route.ts';
import { useIsUnboundAdmin } from './session.ts';
import styles from './shell.module.css';
import { applyTheme, currentTheme, type Theme, themes } from './theme.ts';
import { clock } from './words.ts';

interface Section {
  path: string;
  name: string;
}

/** An empty path is the home. */
const groups: { name: string; sections: Section[] }[] = [
  {
    name: 'Gateway',
    sections: [
      { path: '', name: 'Overview' },
      { path: 'servers', name: 'Servers' },
      { path: 'tools', name: 'Tools' },
      { path: 'traffic', name: 'Traffic' },
      { path: 'query', name: 'Query' },
    ],
  },
  {
    name: 'Manage',
    sections: [
      { path: 'connect', name: 'Connect' },
      { path: 'access', name: 'Access' },
      { path: 'settings', name: 'Settings' },
    ],
  },
];
const sections = groups.flatMap((group) => group.sections);
/** Resources and prompts are found beside the tools. */
const sectionOf: Record<string, string> = { resources: 'tools', prompts: 'tools' };
const hrefOf = ({ path }: Section) => (path === '' ? linkTo() : linkTo(path));

export function Shell({
  place,
  onSignedOut,
  children,
}: {
  place: Place;
  onSignedOut: () => void;
  children: ReactNode;
}) {
  const section = sectionOf[place.parts[0] ?? ''] ?? place.parts[0] ?? '';
  const main = useRef<HTMLElement>(null);
  const path = place.parts.join('/');
  const shownPath = useRef(path);
  const [menu, setMenu] = useState(false);
  const [palette, setPalette] = useState(false);
  useEffect(startLive, []);
  useEffect(() => onShortcut({ onPalette: () => setPalette(true), main }), []);
  useEffect(() => {
    if (shownPath.current === path) return;
    shownPath.current = path;
    setMenu(false);
    // Like a page that was loaded: from the top, and a screen reader begins there. Tabs of a page are no new page.
    if (document.activeElement?.role === 'tab') return;
    main.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [path]);
  const signOut = async () => {
    await api('DELETE', '/api/v1/session');
    onSignedOut();
  };
  const commands = useCommands(signOut);
  return (
    <div className={styles.shell}>
      <button type="button" className={styles.skip} onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header className={styles.side}>
        <a className={styles.brand} href={linkTo()}>
          <img src="/favicon.svg" alt="" width="22" height="22" /> mcp-aggregator
        </a>
        <button type="button" className={styles.find} onClick={() => setPalette(true)}>
          Search <kbd>Ctrl K</kbd>
        </button>
        <button type="button" className={styles.menuButton} aria-expanded={menu} onClick={() => setMenu(!menu)}>
          Menu
        </button>
        <RunningCalls />
        <div className={styles.menu} data-open={menu}>
          <nav aria-label="Sections" className={styles.groups}>
            {groups.map((group) => (
              <div key={group.name} className={styles.group}>
                <p>{group.name}</p>
                {group.sections.map((each) => (
                  <a key={each.path} href={hrefOf(each)} aria-current={section === each.path ? 'page' : undefined}>
                    {each.name}
                  </a>
                ))}
              </div>
            ))}
          </nav>
          <div className={styles.foot}>
            <LiveState />
            <ThemeChoice />
            <button type="button" className="small quiet" onClick={() => void signOut()}>
              Sign out
            </button>
          </div>
        </div>
      </header>
      <main ref={main} tabIndex={-1} id="main">
        <Offline />
        <SafeMode />
        {children}
      </main>
      <Messages />
      {palette && <Palette commands={commands} onClose={() => setPalette(false)} />}
    </div>
  );
}

function useCommands(signOut: () => Promise<void>): Command[] {
  const mayAdd = useIsUnboundAdmin();
  const latest = useRef(signOut);
  latest.current = signOut;
  return useMemo(() => {
    const go = (name: string, kind: string, href: string): Command => ({
      name,
      kind,
      run() {
        window.location.hash = href;
      },
    });
    return [
      ...sections.map((each) => go(each.name, 'Page', hrefOf(each))),
      ...(mayAdd ? [go('Add a server', 'Action', linkTo('servers', '+'))] : []),
      ...themes.map((theme) => ({ name: `Theme: ${theme}`, kind: 'Action', run: () => applyTheme(theme) })),
      { name: 'Sign out', kind: 'Action', run: () => void latest.current() },
    ];
  }, [mayAdd]);
}

/** Ctrl-K opens the palette from everywhere; `/` goes to the search of the page, unless one is typing. */
function onShortcut({
  onPalette,
  main,
}: {
  onPalette: () => void;
  main: { readonly current: HTMLElement | null };
}): () => void {
  const onKeyDown = (event: KeyboardEvent) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
    if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      onPalette();
    } else if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const search = main.current?.querySelector('input[type=search]');
      if (!(search instanceof HTMLElement)) return;
      event.preventDefault();
      search.focus();
    }
  };
  window.addEventListener('keydown', onKeyDown);
  return () => window.removeEventListener('keydown', onKeyDown);
}

function LiveState() {
  const live = useSyncExternalStore(liveState.subscribe, liveState.get);
  return (
    <p className={styles.live} data-live={live} role="status">
      {live === 'live' ? 'Live' : live === 'lost' ? 'Connection lost, reconnecting' : 'Connecting'}
    </p>
  );
}

/** What is on the page is old: said above it, and its colours go (`[data-live=lost]`). */
function Offline() {
  const live = useSyncExternalStore(liveState.subscribe, liveState.get);
  useEffect(() => {
    document.documentElement.dataset.live = live;
  }, [live]);
  if (live !== 'lost') return null;
  return (
    <div className={styles.offline}>
      <Notice tone="bad">
        The aggregator does not respond: this page shows its state of {clock(new Date(liveState.since()).toISOString())}
        . Reconnecting automatically.
      </Notice>
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

function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(currentTheme);
  return (
    <label className={styles.theme}>
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
