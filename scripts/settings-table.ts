/** The settings as Markdown for docs/configuration.md, made from src/config/settings.ts: the most used, then all of them. */
import { flagOf } from '../src/config/config.ts';
import { type SettingName, settings } from '../src/config/settings.ts';

const mostUsed: readonly SettingName[] = [
  'host',
  'port',
  'dataDir',
  'config',
  'adminToken',
  'databaseUrl',
  'credentialKey',
  'publicUrl',
  'requestTimeoutMs',
  'logLevel',
];

/** The whole of docs/configuration.md. */
export function configurationPage(): string {
  return `${[
    '# Configuration',
    '',
    'All settings, generated from `src/config/settings.ts` by `npm run reference`. A flag of `mcp-aggregator serve` overrides the variable, the variable overrides `"settings"` in the file given with `--config`. Times are in seconds. With an invalid value, the aggregator does not start and prints the reason. A secret can also be read from the file that `<variable>_FILE` names, for example `MCP_CREDENTIAL_KEY_FILE`.',
    '',
    '## Most used',
    '',
    ...settingsTable(mostUsed),
    '',
    '## All',
    '',
    ...settingsTable(Object.keys(settings) as SettingName[]),
  ].join('\n')}\n`;
}

function settingsTable(names: readonly SettingName[]): string[] {
  return ['| variable | flag | meaning | default | example |', '|---|---|---|---|---|', ...names.map(settingRow)];
}

function settingRow(name: SettingName): string {
  const { env, help, example, secret } = settings[name] as (typeof settings)['host'];
  const meaning = secret === true ? `${help}; secret` : help;
  const shownExample = secret === true ? '' : code(example);
  return `| ${[code(env), code(`--${flagOf(name)}`), cell(meaning), cell(defaultOf(name)), shownExample].join(' | ')} |`;
}

function defaultOf(name: SettingName): string {
  const { default: value, defaultText } = settings[name] as (typeof settings)['host'];
  if (defaultText !== undefined) return defaultText;
  if (value === undefined || String(value) === '') return 'not set';
  // Times are kept in milliseconds and written in seconds.
  return code(String(name.endsWith('Ms') ? Number(value) / 1_000 : value));
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const code = (text: string) => `\`${cell(text)}\``;
