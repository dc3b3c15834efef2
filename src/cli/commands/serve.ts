import type { Command } from 'commander';
import { flagOf } from '../../config/config.ts';
import { type SettingName, settings } from '../../config/settings.ts';
import { didYouMean } from '../../suggestions.ts';
import type { AddCommand } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { addSettingFlags, settingsOf } from '../setting-flags.ts';
import { unknownCommand } from '../usage-failure.ts';

const names = Object.keys(settings) as SettingName[];

export const addServe: AddCommand = (program, environment) => {
  const command = program
    .command('serve', { isDefault: true })
    .description('run the aggregator (the default command)')
    // Unknown commands arrive here, because `serve` is the default.
    .allowExcessArguments(true)
    .usage('[settings]')
    .action(async (_options, self: Command) => {
      if (self.args.length > 0) throw new CommandFailure('usage', unknownCommand(self.args[0] ?? '', program));
      // Loaded lazily, so that other commands start faster.
      const { serve } = await import('../../main.ts');
      await serve(environment, settingsOf(self));
    });
  addSettingFlags(command).configureHelp({ visibleOptions: () => [] });
};

/** Every setting with its flag, variable, default and an example; with a word, those that mention it. */
export function describeSettings(word = ''): string {
  const found = names.filter((name) => describeSetting(name).join(' ').toLowerCase().includes(word.toLowerCase()));
  if (found.length === 0)
    throw new CommandFailure('notFound', `No setting mentions "${word}"${didYouMean(word, names.map(flagOf))}`);
  const about = [
    'Settings: a flag overrides the variable, the variable overrides "settings" in the config file. A secret can also be',
    'read from the file that NAME_FILE names, for example MCP_CREDENTIAL_KEY_FILE.',
  ];
  return [...(word === '' ? about : []), ...found.flatMap(describeSetting)].join('\n');
}

function describeSetting(name: SettingName): string[] {
  const { env, help, example, default: preset, defaultText, secret } = settings[name] as (typeof settings)['host'];
  const seconds = name.endsWith('Ms') ? Number(preset) / 1_000 : preset;
  const shown = defaultText ?? (preset === undefined || String(preset) === '' ? 'not set' : String(seconds));
  const sample = secret || example.includes(' ') ? example : `--${flagOf(name)} ${example}`;
  return [`  --${flagOf(name)} <value>  ${env}`, `      ${help}`, `      default: ${shown}; example: ${sample}`];
}
