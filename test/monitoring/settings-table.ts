/** The table of settings in docs/operations.md, made from src/config/settings.ts: `node test/monitoring/settings-table.ts` writes it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { settings } from '../../src/config/settings.ts';

export const operations = new URL('../../docs/operations.md', import.meta.url);
const section = /(<!-- made by [^>]*-->\n)[\s\S]*(<!-- \/made -->)/;

export function withSettingsTable(text: string): string {
  if (!section.test(text)) throw new Error('docs/operations.md has lost the place of its table of settings');
  return text.replace(section, (_whole, begin: string, end: string) => `${begin}${settingsTable()}\n${end}`);
}

function settingsTable(): string {
  const rows = Object.values(settings).map(({ env, help, example, default: value, ...more }) => {
    const text = more.defaultText ?? defaultText(value, env);
    const secret = 'secret' in more ? ' **Secret.**' : '';
    return `| \`${env}\` | ${text === '' ? '–' : `\`${text}\``} | ${help.replaceAll('|', '\\|')}${secret} | ${'secret' in more ? '' : `\`${example}\``} |`;
  });
  return ['| variable | default | meaning | example |', '|---|---|---|---|', ...rows].join('\n');
}

/** Times are kept in milliseconds and written in seconds. */
function defaultText(value: unknown, env: string): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return '';
  const name = Object.entries(settings).find(([, setting]) => setting.env === env)?.[0] ?? '';
  return typeof value === 'number' && name.endsWith('Ms') ? String(value / 1_000) : String(value);
}

if (import.meta.main) writeFileSync(operations, withSettingsTable(readFileSync(operations, 'utf8')));
