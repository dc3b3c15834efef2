/** The calls of this window that still run, from every page. */
import { type CallTarget, isRunning, usePlaygroundCalls } from '../playground-calls.ts';
import { linkTo } from '../route.ts';
import { count } from '../words.ts';

export function RunningCalls() {
  const [newest, ...others] = usePlaygroundCalls().filter(isRunning);
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
