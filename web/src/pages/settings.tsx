import { Page } from '../parts/page.tsx';

export function SettingsPage({ tab: _tab }: { tab: string | undefined }) {
  return <Page title="Settings">soon</Page>;
}
