import { type ReactNode, type UIEvent, useState } from 'react';

/** Draws only the rows that can be seen, so ten thousand cost as much as thirty. All rows have one height. */
export function VirtualList<Row>({
  rows,
  rowHeight,
  height,
  label,
  keyOf,
  children,
}: {
  rows: readonly Row[];
  rowHeight: number;
  height: number;
  label: string;
  keyOf: (row: Row) => string;
  children: (row: Row) => ReactNode;
}) {
  const [top, setTop] = useState(0);
  const first = Math.max(0, Math.floor(top / rowHeight) - 8);
  const last = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + 8);
  const shown = rows.slice(first, last);
  const style = { maxHeight: height };
  return (
    // A list that scrolls must be reachable with the keyboard.
    <section
      className="virtual"
      style={style}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
      tabIndex={0}
      onScroll={(event: UIEvent<HTMLElement>) => setTop(event.currentTarget.scrollTop)}
    >
      <ul style={{ height: rows.length * rowHeight }} aria-label={`${rows.length} rows`}>
        {shown.map((row, place) => (
          <li
            key={keyOf(row)}
            style={{ top: (first + place) * rowHeight, height: rowHeight }}
            aria-setsize={rows.length}
            aria-posinset={first + place + 1}
          >
            {children(row)}
          </li>
        ))}
      </ul>
    </section>
  );
}
