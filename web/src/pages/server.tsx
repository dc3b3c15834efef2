import type { AnswerOf, ServerDetail } from '../api.ts';
import { serverPath } from '../api.ts';
import { StatusBadge } from '../parts/badge.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { serverEvents, useResource } from '../resource.ts';
import { goTo, linkTo } from '../route.ts';
import { ChangePanel } from './change-review.tsx';
import { ServerActions } from './server-actions.tsx';
import { ServerChanges } from './server-changes.tsx';
import { Configuration } from './server-configuration.tsx';
import { History } from './server-history.tsx';
import { ServerLog } from './server-log.tsx';
import { ServerOffers } from './server-offers.tsx';
import { ServerOverview } from './server-overview.tsx';
import { ServerTools } from './server-tools.tsx';

const tabs: { id: string; name: string; View: (props: { server: ServerDetail }) => React.ReactNode }[] = [
  { id: 'overview', name: 'Overview', View: ServerOverview },
  { id: 'tools', name: 'Tools', View: ServerTools },
  { id: 'resources', name: 'Resources and prompts', View: ServerOffers },
  { id: 'changes', name: 'Changes', View: ServerChanges },
  { id: 'log', name: 'Log', View: ServerLog },
  { id: 'history', name: 'History', View: History },
  { id: 'configuration', name: 'Configuration', View: Configuration },
];

export function ServerPage({ name, tab: wanted = 'overview' }: { name: string; tab?: string }) {
  const server = useResource<ServerDetail>(serverPath(name), {
    on: [...serverEvents, 'call.started', 'call.finished'],
    when: (event) => event.name === name || event.server === name,
    gather: 500,
  });
  const isGone = server.error?.status === 404;
  if (isGone || server.data === undefined) {
    if (isGone) {
      return (
        <Empty page title={`Server not found: ${name}`}>
          <a href={linkTo('servers')}>All servers</a>
        </Empty>
      );
    }
    return server.error === undefined ? <Loading /> : <Failure error={server.error} retry={server.reload} />;
  }
  const { data } = server;
  const tab = tabs.find(({ id }) => id === wanted) ?? tabs[0];
  if (tab === undefined) return null;
  return (
    <Page
      title={data.name}
      crumbs={[{ name: 'Servers', href: linkTo('servers') }]}
      badge={<StatusBadge {...data} />}
      lead={data.description ?? undefined}
      actions={
        <ServerActions
          server={data}
          pending={data.active_calls + data.queued_calls}
          onRemoved={() => goTo('servers')}
        />
      }
    >
      <ServerTabs server={data} current={tab.id}>
        <tab.View server={data} />
      </ServerTabs>
      <ChangePanel />
    </Page>
  );
}

function ServerTabs({
  server,
  current,
  children,
}: {
  server: ServerDetail;
  current: string;
  children: React.ReactNode;
}) {
  const { data } = useResource<AnswerOf<'getAggregatorServersIdChanges'>>(
    `${serverPath(server.name)}/changes?state=pending&limit=100`,
    { on: ['catalog.changed', 'server.discovered'] },
  );
  const held = data?.changes.length ?? 0;
  const marks: Record<string, React.ReactNode> = {
    tools: <span className="dim">{server.tool_count}</span>,
    changes: held > 0 && <span className="badge bad">{held} held</span>,
  };
  return (
    <Tabs
      label={`About ${server.name}`}
      current={current}
      tabs={tabs.map(({ id, name }) => ({
        id,
        name,
        href: id === 'overview' ? linkTo('servers', server.name) : linkTo('servers', server.name, id),
        mark: marks[id],
      }))}
    >
      {children}
    </Tabs>
  );
}
