/** The calls of this window that still run, from every page. */
import { useEffect } from 'react';
import { type CallTarget, isRunning, usePlaygroundCalls } from '../playground-calls.ts';
import { linkTo } from '../route.ts';
import { count } from '../words.ts';

export function RunningCalls() {
  const [newest, ...others] = usePlaygroundCalls().filter(isRunning);
  const isAny = newest !== undefined;
  useEffect(() => {
    // Closing the window closes their connections, which cancels them: the browser asks first.
    if (!isAny) return;
    const ask = (event: Event) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [isAny]);
  if (newest === undefined) return null;
  return (
    <a className="badge busy" href={pageOf(newest)}>
      {newest.state === 'asking' ? 'A call needs your input' : count(others.length + 1, 'running call')}
    </a>
  );
}

function pageOf({ kind, server, name }: CallTarget): string {
  if (kind === 'tool') return linkTo('tools', name);
  return linkTo(kind === 'resource' ? 'resources' : 'prompts', server, name);
}
