import type { ReactNode } from 'react';
import type { ApiError } from '../api.ts';

export function Notice({ tone, children }: { tone: 'good' | 'warn' | 'bad' | 'info'; children: ReactNode }) {
  return (
    <div className={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

/** What happened, and how to fix it. */
export function Failure({ error, retry }: { error: ApiError | undefined; retry?: () => void }) {
  if (error === undefined) return null;
  const advice = adviceFor(error);
  return (
    <Notice tone="bad">
      <p className="lines">{error.message}</p>
      {advice !== undefined && <p>{advice}</p>}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </Notice>
  );
}

function adviceFor({ status, code }: ApiError): string | undefined {
  if (status === 0) return 'Start it with: mcp-aggregator serve';
  if (status === 403) return 'Sign in with a token of a higher role.';
  if (code === 'INTERNAL_ERROR') return 'See the log of the aggregator for details.';
  return undefined;
}

/** `page`: it is all there is, so its title is the title of the page. */
export function Empty({ title, page, children }: { title: string; page?: boolean; children?: ReactNode }) {
  return (
    <div className="empty">
      {page ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </div>
  );
}

export function Loading({ what = 'Loading' }: { what?: string }) {
  return (
    <p className="loading" role="status">
      {what}…
    </p>
  );
}
