/** The settings as flags of the commands that run the aggregator. */
import { type Command, Option } from 'commander';
import { flagOf } from '../config/config.ts';
import { type SettingName, settings } from '../config/settings.ts';

const names = Object.keys(settings) as SettingName[];
/** `--data-dir` is a flag of every command. */
const ownNames = names.filter((name) => name !== 'dataDir');

/** `help settings` describes them; the help of the command only refers to it. */
export function addSettingFlags(command: Command): Command {
  for (const name of ownNames) {
    command.addOption(new Option(`--${flagOf(name)} <value>`, settings[name].help).hideHelp());
  }
  return command.addHelpText('after', '\nSettings: mcp-aggregator help settings [word]');
}

/** Maps commander's `healthInterval` to `healthIntervalMs` of the settings table. */
export function settingsOf(command: Command): Partial<Record<string, string>> {
  const given = command.optsWithGlobals<Record<string, string>>();
  const camel = (flag: string) => flag.replace(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    names.flatMap((name) => (camel(flagOf(name)) in given ? [[name, given[camel(flagOf(name))]]] : [])),
  );
}

/** The environment of an aggregator that is started with these flags. */
export function withSettings(environment: NodeJS.ProcessEnv, command: Command): NodeJS.ProcessEnv {
  const given = Object.entries(settingsOf(command)).filter(([name]) => name !== 'dataDir');
  return {
    ...environment,
    ...Object.fromEntries(given.map(([name, value]) => [settings[name as SettingName].env, value])),
  };
}
