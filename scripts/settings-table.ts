/** The settings as Markdown, made from src/config.ts: all of them for docs/configuration.md, the most used for README.md. */
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

const section = /(<!-- settings: npm run reference -->\n)[\s\S]*?(<!-- \/settings -->)/;

/** The whole of docs/configuration.md. */
export function configurationPage(): string {
  return `${[
    '# Configuration',
    '',
    'All settings, generated from `src/config/settings.ts` by `npm run reference`. A flag of `mcp-aggregator serve` overrides the variable, the variable overrides `"settings"` in the file given with `--config`. Times are in seconds. With an invalid value, the aggregator does not start and prints the reason. A secret can also be read from the file that `<variable>_FILE` names, for example `MCP_CREDENTIAL_KEY_FILE`.',
    '',
    ...settingsTable(Object.keys(settings) as SettingName[]),
  ].join('\n')}\n`;
}

/** README.md with its short table brought up to date. */
export function withMostUsedSettings(readme: string): string {
  if (!section.test(readme)) throw new Error('README.md has lost the markers around its table of settings.');
  return readme.replace(section, (_, begin: string, end: string) =>
    [begin, settingsTable(mostUsed).join('\n'), '\n', end].join(''),
  );
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
