/** A command line as people copy it from a README, taken apart as a shell would. */

export interface CommandLine {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** undefined: a quote is open, or the text is nothing but a command. */
export function splitCommandLine(text: string): CommandLine | undefined {
  const words = toWords(text);
  if (words === undefined) return undefined;
  const env: Record<string, string> = {};
  // NAME=value in front of a command sets its environment.
  while (words[0] !== undefined && /^[A-Za-z_]\w*=/.test(words[0])) {
    const word = words.shift() ?? '';
    const at = word.indexOf('=');
    env[word.slice(0, at)] = word.slice(at + 1);
  }
  const [command, ...args] = words;
  if (command === undefined || (args.length === 0 && Object.keys(env).length === 0)) return undefined;
  return { command, args, env };
}

/** Quotes keep spaces together; a backslash keeps the next character, unless the text is a path of Windows. */
function toWords(text: string): string[] | undefined {
  const escapes = !/^"?[A-Za-z]:\\/.test(text.trim());
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] as string;
    if (quote !== '') {
      if (sign === quote) quote = '';
      else if (sign === '\\' && quote === '"' && /["\\$`]/.test(text[at + 1] ?? '')) word += text[++at] ?? '';
      else word += sign;
    } else if (sign === '"' || sign === "'") {
      quote = sign;
      word ??= '';
    } else if (/\s/.test(sign)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (sign === '\\' && escapes) {
      at += 1;
      // A backslash at the end of a line continues the command.
      if (text[at] !== '\n') word = `${word ?? ''}${text[at] ?? ''}`;
    } else {
      word = `${word ?? ''}${sign}`;
    }
  }
  if (quote !== '') return undefined;
  return word === undefined ? words : [...words, word];
}
