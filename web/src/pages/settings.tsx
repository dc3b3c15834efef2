import { useState } from 'react';
import { Page } from '../parts/page.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { linkTo } from '../route.ts';
import { useIsUnboundAdmin, useSession } from '../session.ts';
import { applyTheme, currentTheme, type Theme, themes } from '../theme.ts';
import { BackupView } from './backup.tsx';
import { CategoriesView } from './categories.tsx';
import { QueryRulesView } from './query-rules.tsx';

const views = [
  { id: 'appearance', name: 'Appearance', View: Appearance, forAdmins: false },
  { id: 'categories', name: 'Categories', View: CategoriesView, forAdmins: false },
  { id: 'rules', name: 'Query rules', View: QueryRulesView, forAdmins: false },
  { id: 'backup', name: 'Backup', View: BackupView, forAdmins: true },
];

export function SettingsPage({ tab = 'appearance' }: { tab: string | undefined }) {
  const isAdmin = useIsUnboundAdmin();
  const visible = views.filter(({ forAdmins }) => isAdmin || !forAdmins);
  const current = visible.find(({ id }) => id === tab) ?? visible[0];
  if (current === undefined) return null;
  const tabs = visible.map(({ id, name }) => ({ id, name, href: linkTo('settings', id) }));
  return (
    <Page title={current.name} crumbs={[{ name: 'Settings', href: linkTo('settings') }]}>
      <Tabs label="Settings" tabs={tabs} current={current.id}>
        <current.View />
      </Tabs>
    </Page>
  );
}

const themeNames: Record<Theme, string> = { auto: 'As the system', light: 'Light', dark: 'Dark' };

function Appearance() {
  const { version } = useSession();
  const [theme, setTheme] = useState(currentTheme);
  return (
    <>
      <fieldset className="narrow">
        <legend>Theme</legend>
        {themes.map((each) => (
          <label key={each} className="check">
            <input
              type="radio"
              name="theme"
              checked={theme === each}
              onChange={() => {
                setTheme(each);
                applyTheme(each);
              }}
            />{' '}
            {themeNames[each]}
          </label>
        ))}
      </fieldset>
      <p className="dim">
        The theme is stored in this browser. Animations follow the setting “reduce motion” of your system.
        mcp-aggregator {version}
      </p>
    </>
  );
}
