/** What a shell offers for the word that is being typed. */
import type { Command } from 'commander';

/** Names that only the running aggregator, or another module, knows. */
export interface NameSources {
  servers(): Promise<string[]>;
  tools(): Promise<string[]>;
  profiles(): Promise<string[]>;
  clients(): Promise<string[]>;
}

/** What the arguments of a command name; others are free text. */
const argumentSources: Record<string, readonly (keyof NameSources)[]> = {
  show: ['servers', 'tools'],
  edit: ['servers', 'tools'],
  enable: ['servers', 'tools'],
  disable: ['servers', 'tools'],
  call: ['tools'],
  client: ['clients'],
  'connect-client': ['clients'],
};
const byArgument: Record<string, readonly (keyof NameSources)[]> = { server: ['servers'] };
const byOption: Record<string, readonly (keyof NameSources)[]> = { '--server': ['servers'], '--profile': ['profiles'] };

/** `words` are those after the name of the program; the last one is being typed. */
export async function complete(program: Command, words: readonly string[], names: NameSources): Promise<string[]> {
  const typed = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  // What follows is the command of a server.
  if (before.includes('--')) return [];
  const { command, given } = walk(program, before);
  const offered = await candidates(command, given, before.at(-1), typed, names);
  return [...new Set(offered)].filter((word) => word.startsWith(typed)).sort();
}

function walk(program: Command, words: readonly string[]): { command: Command; given: string[] } {
  let command = program;
  let given: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] as string;
    if (word.startsWith('-')) {
      if (optionOf(command, word)?.required && !word.includes('=')) at += 1;
      continue;
    }
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next === undefined || given.length > 0) given.push(word);
    else {
      command = next;
      given = [];
    }
  }
  return { command, given };
}

const optionOf = (command: Command, word: string) =>
  command.options.find(({ long, short }) => long === word || short === word);

async function candidates(
  command: Command,
  given: readonly string[],
  last: string | undefined,
  typed: string,
  names: NameSources,
): Promise<string[]> {
  const option = last === undefined ? undefined : optionOf(command, last);
  if (option?.required) return await ask(byOption[option.long ?? ''] ?? [], names);
  if (typed.startsWith('-')) {
    return command.options.filter(({ hidden }) => !hidden).flatMap(({ long }) => long ?? []);
  }
  if (given.length === 0 && command.commands.length > 0) {
    const known = command.commands.filter((one) => !isHidden(one)).map((one) => one.name());
    if (command.registeredArguments.length === 0) return known;
  }
  const argument = command.registeredArguments[Math.min(given.length, command.registeredArguments.length - 1)];
  if (
    argument === undefined ||
    (given.length > 0 && !argument.variadic && given.length >= command.registeredArguments.length)
  )
    return [];
  return await ask(argumentSources[command.name()] ?? byArgument[argument.name()] ?? [], names);
}

/** Commander keeps it to itself. */
const isHidden = (command: Command) => (command as unknown as { _hidden?: boolean })._hidden === true;

async function ask(sources: readonly (keyof NameSources)[], names: NameSources): Promise<string[]> {
  const lists = await Promise.all(sources.map((source) => names[source]()));
  return lists.flat();
}

export const completionScripts: Record<string, string> = {
  bash: `# In ~/.bashrc: source <(mcp-aggregator completion bash)
_mcp_aggregator() {
  local IFS=$'\\n'
  COMPREPLY=($(mcp-aggregator complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _mcp_aggregator mcp-aggregator`,
  zsh: `# In ~/.zshrc, after compinit: source <(mcp-aggregator completion zsh)
_mcp_aggregator() {
  local -a found
  found=("\${(@f)$(mcp-aggregator complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  (( \${#found[1]} )) && compadd -- "\${found[@]}" || _files
}
compdef _mcp_aggregator mcp-aggregator`,
  fish: `# In ~/.config/fish/config.fish: mcp-aggregator completion fish | source
complete -c mcp-aggregator -a '(mcp-aggregator complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'`,
};
