const blocks = '▁▂▃▄▅▆▇█';

/** A line of blocks from 0 to the largest value, so that what is flat looks flat. */
export function sparkline(values: readonly number[], width = 60): string {
  const most = Math.max(...values, Number.MIN_VALUE);
  const step = Math.max(1, values.length / width);
  const columns = Array.from({ length: Math.min(width, values.length) }, (_, column) => {
    const part = values.slice(
      Math.floor(column * step),
      Math.max(Math.floor(column * step) + 1, Math.floor((column + 1) * step)),
    );
    return Math.max(...part);
  });
  return columns
    .map((value) => blocks[Math.min(blocks.length - 1, Math.floor((value / most) * blocks.length))])
    .join('');
}
