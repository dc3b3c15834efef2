/** The calls of this window that still run, from every page. */
import { useEffect } from 'react';
import { type CallTarget, isRunning, usePlaygroundCalls } from '../playground-calls.ts';
import { linkTo } from '../route.ts';
import { count } from '../words.ts';
import styles from './running-calls.module.css';

export function RunningCalls() {
  const running = usePlaygroundCalls().filter(isRunning);
  const asking = running.find(({ state }) => state === 'asking');
  const shown = asking ?? running[0];
  const isAny = shown !== undefined;
  useEffect(() => {
    // Closing the window closes their connections, which cancels them: the browser asks first.
    if (!isAny) return;
    const ask = (event: Event) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [isAny]);
  if (shown === undefined) return null;
  return (
    <a className={styles.running} data-asking={asking !== undefined} href={pageOf(shown)}>
      {asking === undefined ? count(running.length, 'running call') : 'A call needs your input'}
    </a>
  );
}

function pageOf({ kind, server, name }: CallTarget): string {
  if (kind === 'tool') return linkTo('tools', name);
  return linkTo(kind === 'resource' ? 'resources' : 'prompts', server, name);
}
