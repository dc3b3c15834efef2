/** Light or dark theme: the system setting, unless the user selected one. Only this selection is stored in the browser. */
export type Theme = 'auto' | 'light' | 'dark';

const key = 'theme';
export const themes: readonly Theme[] = ['auto', 'light', 'dark'];

export function currentTheme(): Theme {
  const stored = localStorage.getItem(key);
  return themes.find((theme) => theme === stored) ?? 'auto';
}

export function applyTheme(theme = currentTheme()): void {
  localStorage.setItem(key, theme);
  document.documentElement.dataset.theme = theme;
}
