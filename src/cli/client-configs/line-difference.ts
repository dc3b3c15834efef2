interface DifferenceLine {
  sign: ' ' | '+' | '-' | '…';
  text: string;
}

const around = 2;

/** The changed lines between two texts with some context. Exact for a single change in one place. */
export function lineDifference(before: string, after: string): DifferenceLine[] {
  const [a, b] = [toLines(before), toLines(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  if (start === a.length && start === b.length) return [];
  const same = (text: string): DifferenceLine => ({ sign: ' ', text });
  return [
    ...(start > around ? [{ sign: '…' as const, text: '' }] : []),
    ...a.slice(Math.max(0, start - around), start).map(same),
    ...a.slice(start, a.length - end).map((text): DifferenceLine => ({ sign: '-', text })),
    ...b.slice(start, b.length - end).map((text): DifferenceLine => ({ sign: '+', text })),
    ...b.slice(b.length - end, b.length - end + around).map(same),
    ...(end > around ? [{ sign: '…' as const, text: '' }] : []),
  ];
}

const toLines = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));
