import {
  type KeyboardEvent,
  memo,
  type ReactNode,
  type UIEvent,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useParameter } from '../route.ts';
import styles from './data-table.module.css';
import { arrange, compareBy, type Order, type SortValue } from './row-order.ts';
import { useNarrow } from './use-narrow.ts';

export interface Column<Row> {
  id: string;
  name: string;
  cell: (row: Row) => ReactNode;
  /** The column can be sorted by it. */
  sortBy?: (row: Row) => SortValue;
  /** The first click sorts the highest to the top. */
  isNumber?: boolean;
  /** CSS; columns without a width share what is left. */
  width?: string;
  /** Left out on a phone: the details of the row say it. */
  onlyWide?: boolean;
}

export interface Selection {
  keys: ReadonlySet<string>;
  onChange: (keys: ReadonlySet<string>) => void;
  nameOf: (key: string) => string;
  actions: ReactNode;
}

interface Props<Row> {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  /** `name`, or `-name` for descending; empty keeps the order of the rows. */
  sort?: string;
  /** What the rows answer, such as a filter: they are arranged anew when it changes, also under the pointer. */
  question?: string;
  /** New rows come at the end while one works with the table, or wait until one asks for them. */
  newRows?: 'append' | 'wait';
  openKey?: string | null;
  selection?: Selection;
  /** What is said where no row fits. */
  empty?: ReactNode;
}

/** Above so many rows only those that can be seen are drawn. */
const maxDrawn = 80;
const overscan = 10;

/**
 * The one table: dense, sortable, its order in the address (`?sort=`). The first column names the row and holds its link.
 * Rows keep their places while the pointer is on them. Arrow keys move from row to row.
 */
export function DataTable<Row>(props: Props<Row>) {
  const { label, rows, columns, keyOf, sort: initialSort = '', newRows = 'append', openKey, selection, empty } = props;
  const { question = '' } = props;
  const [sort, setSort] = useParameter('sort', initialSort);
  const frame = useRef<HTMLDivElement>(null);
  const [, setLeft] = useState(0);
  const [top, setTop] = useState(0);
  const { arranged, showAll } = useArranged(rows, columns, keyOf, sort, {
    held: top > 0 || isPointedAt(frame.current),
    newRows,
    question,
  });
  const isLong = arranged.rows.length > maxDrawn;
  const toggle = useToggle(selection);
  const { first, last, rowHeight } = useWindow(frame, isLong, top, arranged.rows.length);
  const drawn = isLong ? arranged.rows.slice(first, last) : arranged.rows;
  return (
    <div ref={frame} className={styles.frame} onPointerLeave={() => setLeft((count) => count + 1)}>
      {selection !== undefined && selection.keys.size > 0 && (
        <div className={styles.bulk}>
          <strong>{selection.keys.size} selected</strong>
          {selection.actions}
          <button type="button" className="small quiet" onClick={() => selection.onChange(new Set())}>
            Clear
          </button>
        </div>
      )}
      {arranged.waiting > 0 && (
        <button
          type="button"
          className={`${styles.waiting} small`}
          onClick={() => {
            frame.current?.firstElementChild?.scrollTo(0, 0);
            setTop(0);
            showAll();
          }}
        >
          {arranged.waiting} new
        </button>
      )}
      <section
        className={`${styles.scroll} ${isLong ? styles.long : ''}`}
        aria-label={label}
        tabIndex={isLong ? 0 : undefined}
        onScroll={(event: UIEvent<HTMLElement>) => setTop(event.currentTarget.scrollTop)}
      >
        <table className={styles.table} aria-rowcount={arranged.rows.length + 1} onKeyDown={moveBetweenRows}>
          <Head columns={columns} sort={sort} onSort={setSort} selection={selection} allKeys={arranged.order.keys} />
          <tbody>
            {isLong && <Gap height={first * rowHeight} />}
            {drawn.map((row, place) => (
              <TableRow
                key={keyOf(row)}
                row={row}
                rowKey={keyOf(row)}
                place={(isLong ? first : 0) + place + 2}
                columns={columns}
                isOpen={openKey === keyOf(row)}
                selected={selection?.keys.has(keyOf(row))}
                selectedName={selection?.nameOf(keyOf(row))}
                onToggle={toggle}
              />
            ))}
            {isLong && <Gap height={(arranged.rows.length - last) * rowHeight} />}
          </tbody>
        </table>
      </section>
      {arranged.rows.length === 0 && <p className={styles.none}>{empty ?? 'Nothing matches.'}</p>}
    </div>
  );
}

/** Asked of the browser, because events miss what happens when rows come and go under a pointer that rests. */
const isPointedAt = (element: HTMLElement | null) =>
  element?.matches(':hover') === true && window.matchMedia('(hover: hover)').matches;

function useArranged<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  keyOf: (row: Row) => string,
  sort: string,
  { held, newRows, question }: { held: boolean; newRows: 'append' | 'wait'; question: string },
) {
  const order = useRef<Order>(undefined);
  const [asked, setAsked] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: columns and keys are written anew at every render; `asked` counts
  const arranged = useMemo(() => {
    const column = columns.find(({ id }) => id === sort.replace(/^-/, ''));
    const compare = column?.sortBy === undefined ? undefined : compareBy(column.sortBy, sort.startsWith('-'));
    return arrange(rows, keyOf, compare, { by: `${sort} ${asked} ${question}`, before: order.current, held, newRows });
  }, [rows, sort, held, asked, newRows, question]);
  useEffect(() => {
    order.current = arranged.order;
  }, [arranged]);
  return { arranged, showAll: () => setAsked((count) => count + 1) };
}

/** Which rows can be seen. All have one height. */
function useWindow(frame: { current: HTMLElement | null }, isLong: boolean, top: number, total: number) {
  const [viewHeight, setViewHeight] = useState(800);
  const rowHeight = useRowHeight();
  useEffect(() => {
    const view = frame.current?.querySelector('section');
    if (!isLong || view == null) return;
    const observer = new ResizeObserver(() => setViewHeight(view.clientHeight));
    observer.observe(view);
    return () => observer.disconnect();
  }, [frame, isLong]);
  const first = Math.min(Math.max(0, Math.floor(top / rowHeight) - overscan), total);
  return { first, last: Math.min(total, Math.ceil((top + viewHeight) / rowHeight) + overscan), rowHeight };
}

/** As `--row` of the design tokens has it. */
function useRowHeight(): number {
  const narrow = useNarrow();
  return narrow ? 48 : 2.6 * 14;
}

function Gap({ height }: { height: number }) {
  return (
    <tr className={styles.gap} aria-hidden>
      <td style={{ height }} />
    </tr>
  );
}

/** Wide columns share a phone; `rem`. */
const maxNarrowWidth = 8;
const narrowWidth = (width: string | undefined) =>
  width !== undefined && Number.parseFloat(width) <= maxNarrowWidth ? width : undefined;

const arrows = { ascending: '↑', descending: '↓', none: '' };

function Head<Row>({
  columns,
  sort,
  onSort,
  selection,
  allKeys,
}: {
  columns: readonly Column<Row>[];
  sort: string;
  onSort: (sort: string) => void;
  selection: Selection | undefined;
  allKeys: readonly string[];
}) {
  const narrow = useNarrow();
  const isAll = selection !== undefined && allKeys.length > 0 && selection.keys.size === allKeys.length;
  const next = ({ id, isNumber }: Column<Row>) => {
    const [usual, reversed] = isNumber === true ? [`-${id}`, id] : [id, `-${id}`];
    return sort === usual ? reversed : usual;
  };
  const direction = ({ id }: Column<Row>) => (sort === id ? 'ascending' : sort === `-${id}` ? 'descending' : undefined);
  return (
    <thead>
      <tr>
        {selection !== undefined && (
          <td className={styles.select}>
            <input
              type="checkbox"
              aria-label="Select all"
              checked={isAll}
              onChange={() => selection.onChange(new Set(isAll ? [] : allKeys))}
            />
          </td>
        )}
        {columns.map((column) => (
          <th
            key={column.id}
            scope="col"
            aria-sort={direction(column)}
            style={{ width: narrow ? narrowWidth(column.width) : column.width }}
            className={classOf(column)}
          >
            {column.sortBy === undefined ? (
              column.name
            ) : (
              <button type="button" onClick={() => onSort(next(column))}>
                {column.name} {arrows[direction(column) ?? 'none']}
              </button>
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}

const classOf = <Row,>({ isNumber, onlyWide }: Column<Row>) =>
  [isNumber === true && styles.number, onlyWide === true && styles.wide].filter(Boolean).join(' ') || undefined;

interface RowProps<Row> {
  row: Row;
  rowKey: string;
  place: number;
  columns: readonly Column<Row>[];
  isOpen: boolean;
  /** undefined: rows are not selected here. */
  selected: boolean | undefined;
  selectedName: string | undefined;
  onToggle: (key: string) => void;
}

function RowCells<Row>({ row, rowKey, place, columns, isOpen, selected, selectedName, onToggle }: RowProps<Row>) {
  return (
    <tr aria-rowindex={place} data-open={isOpen}>
      {selected !== undefined && (
        <td className={styles.select}>
          <input
            type="checkbox"
            aria-label={`Select ${selectedName}`}
            checked={selected}
            onChange={() => onToggle(rowKey)}
          />
        </td>
      )}
      {columns.map((column, at) =>
        at === 0 ? (
          <th key={column.id} scope="row" className={classOf(column)}>
            {column.cell(row)}
          </th>
        ) : (
          <td key={column.id} className={classOf(column)}>
            {column.cell(row)}
          </td>
        ),
      )}
    </tr>
  );
}

/** Drawn again only when its row changed: keep the columns of a page outside of its component, or in `useMemo`. */
const TableRow = memo(RowCells) as typeof RowCells;

function useToggle(selection: Selection | undefined): (key: string) => void {
  const latest = useRef(selection);
  latest.current = selection;
  return useCallback((key) => {
    const keys = new Set(latest.current?.keys);
    if (!keys.delete(key)) keys.add(key);
    latest.current?.onChange(keys);
  }, []);
}

/** Up and down, to the same column where it can be operated, else to the link of the row. */
function moveBetweenRows(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  if (!(event.target instanceof HTMLElement) || event.target instanceof HTMLSelectElement) return;
  const cell = event.target.closest('th, td');
  const row = event.target.closest('tbody tr');
  const next = event.key === 'ArrowDown' ? row?.nextElementSibling : row?.previousElementSibling;
  if (!(cell instanceof HTMLTableCellElement) || next == null) return;
  const operated = 'a, button, input';
  const target = next.children[cell.cellIndex]?.querySelector(operated) ?? next.querySelector(operated);
  if (!(target instanceof HTMLElement)) return;
  event.preventDefault();
  target.focus();
}
