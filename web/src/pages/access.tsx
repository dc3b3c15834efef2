import { Page } from '../parts/page.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { linkTo } from '../route.ts';
import { useIsAdmin } from '../session.ts';
import { AuditView } from './audit.tsx';
import { PeopleView } from './people.tsx';
import { ProfilesView } from './profiles.tsx';
import { MyTokens } from './tokens.tsx';

const views = [
  { id: 'tokens', name: 'My tokens', View: MyTokens, forAdmins: false },
  { id: 'people', name: 'People and tokens', View: PeopleView, forAdmins: true },
  { id: 'profiles', name: 'Profiles', View: ProfilesView, forAdmins: false },
  { id: 'audit', name: 'Audit', View: AuditView, forAdmins: true },
];

export function AccessPage({ tab = 'tokens' }: { tab: string | undefined }) {
  const isAdmin = useIsAdmin();
  const visible = views.filter(({ forAdmins }) => isAdmin || !forAdmins);
  const current = visible.find(({ id }) => id === tab) ?? visible[0];
  if (current === undefined) return null;
  const tabs = visible.map(({ id, name }) => ({ id, name, href: linkTo('access', id) }));
  return (
    <Page title={current.name} crumbs={[{ name: 'Access', href: linkTo('access') }]}>
      <Tabs label="Access" tabs={tabs} current={current.id}>
        <current.View />
      </Tabs>
    </Page>
  );
}
