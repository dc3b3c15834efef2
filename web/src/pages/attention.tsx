/** What needs attention, worst first, each with its action. */
import { useState } from 'react';
import { type AnswerOf, api, serverPath } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { RiskBadge } from '../parts/badge.tsx';
import { say } from '../parts/messages.tsx';
import { Failure } from '../parts/notice.tsx';
import { PanelLink } from '../parts/panel.tsx';
import { serverEvents, useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import { useIsUnboundAdmin, useSession } from '../session.ts';
import { count } from '../words.ts';
import styles from './attention.module.css';
import { ChangePanel, changeAddress, changeParameter } from './change-review.tsx';
import { logIn } from './server-actions.tsx';

export type AttentionItem = AnswerOf<'getAggregatorAttention'>['items'][number];

const maxShown = 8;
const events = { on: [...serverEvents, 'catalog.changed'], gather: 500, everyMs: 15_000 } as const;

export const useAttention = () =>
  useResource<AnswerOf<'getAggregatorAttention'>>('/api/v1/aggregator/attention', events);

export function AttentionList() {
  const { data, error, reload } = useAttention();
  const [all, setAll] = useState(false);
  const items = data?.items ?? [];
  const shown = all ? items : items.slice(0, maxShown);
  return (
    <section aria-label="Needs attention">
      <h2>Needs attention</h2>
      <Failure error={error} retry={reload} />
      {data !== undefined && items.length === 0 && <p className={styles.fine}>No problems.</p>}
      {items.length > 0 && (
        <ul className={styles.list}>
          {shown.map((item) => (
            <AttentionRow key={item.id} item={item} />
          ))}
        </ul>
      )}
      {shown.length < items.length && (
        <button type="button" className="small" onClick={() => setAll(true)}>
          Show all {items.length}
        </button>
      )}
      <ChangePanel />
    </section>
  );
}

export function AttentionRow({ item }: { item: AttentionItem }) {
  const parts = item.change?.parts ?? [];
  return (
    <li data-kind={item.kind}>
      <span className={styles.dot} data-severity={item.severity} role="img" aria-label={item.severity} />
      <div className={styles.text}>
        <p>
          <strong>{item.title}</strong> {item.change !== undefined && <RiskBadge risk={item.change.risk} />}
        </p>
        <p>
          {item.detail}
          {parts.length > 0 && ` ${count(parts.length, 'difference')}: ${parts.map(({ what }) => what).join('; ')}`}
        </p>
      </div>
      <AttentionAction item={item} />
    </li>
  );
}

function AttentionAction({ item: { kind, server, tool, change } }: { item: AttentionItem }) {
  const isAdmin = useIsUnboundAdmin();
  const { role } = useSession();
  const { running, error, run } = useAction();
  if (server === null) return <span />;
  const link = (text: string, href: string) => (
    <a className="button small" href={href}>
      {text}
    </a>
  );
  const button = (text: string, task: () => Promise<unknown>) => (
    <span>
      <button type="button" className="small" disabled={running} onClick={() => void run(task)}>
        {text}
      </button>
      <Failure error={error} />
    </span>
  );
  const open = link('Open', linkTo('servers', server));
  switch (kind) {
    case 'held_tool':
      return (
        <PanelLink className="button small" parameter={changeParameter} value={changeAddress(server, change?.id ?? 0)}>
          Review
        </PanelLink>
      );
    case 'login':
      return role === 'viewer' ? open : button('Log in', () => logIn(server));
    case 'missing_variable':
      return link(isAdmin ? 'Configure' : 'Open', linkTo('servers', server, 'configuration'));
    case 'missing_key':
      return role === 'viewer' ? open : link('Enter keys', `/keys/${encodeURIComponent(server)}`);
    case 'server_failed':
      return link('Repair', linkTo('servers', server));
    case 'calls_failing':
      return link('View errors', `${linkTo('traffic', 'errors')}?server=${encodeURIComponent(server)}`);
    case 'suspicious_tool':
      return link('Open', linkTo('tools', tool ?? ''));
    case 'tools_incomplete':
      return isAdmin
        ? button('Refresh', async () => {
            await api('POST', `${serverPath(server)}/tools/refresh`);
            say(`Reading the tools of ${server} again.`);
          })
        : open;
    default:
      return open;
  }
}
