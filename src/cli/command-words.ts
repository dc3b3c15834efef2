/**
 * `add files npx -y pkg`: what follows the command of a server belongs to it, also without `--`, which people forget and
 * PowerShell swallows. Pure.
 */
export function separateServerCommand(words: readonly string[], takesValue: (option: string) => boolean): string[] {
  const places = positionals(words, takesValue);
  const [command, , server] = places.map((at) => words[at]);
  const place = places[2];
  if ((command !== 'add' && command !== 'edit') || server === undefined || place === undefined) return [...words];
  if (/^https?:\/\//i.test(server)) return [...words];
  return [...words.slice(0, place), '--', ...words.slice(place)];
}

/** Where words stand that are neither options nor their values; none after `--`, which is there already. */
function positionals(words: readonly string[], takesValue: (option: string) => boolean): number[] {
  const places: number[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] as string;
    if (word === '--') return [];
    if (!word.startsWith('-')) places.push(at);
    else if (!word.includes('=') && takesValue(word)) at += 1;
    // The command's own options come after it.
    if (places.length === 3) break;
  }
  return places;
}
