export function sameList(a: readonly string[], b: readonly string[]): boolean {
  for (let place = 0; place < b.length; place += 1) if (a[place] !== b[place]) return false;
  return a.length === b.length;
}
