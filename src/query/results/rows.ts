/** Short rows that fit the question equally well are shown together, one below the other: none is the answer alone. */
import type { RelevantItem } from './items.ts';

const maxRow = 400;
const minRows = 2;
const maxRows = 12;
const maxChars = 2_400;
/** Rows that differ by more stand out. */
const equalRelevance = 0.1;

export function packRows(items: readonly RelevantItem[]): RelevantItem[] {
  const isRow = ({ content }: RelevantItem): boolean => content.length <= maxRow;
  const packed: RelevantItem[] = items.filter((item) => !isRow(item));
  for (const alike of groupByRelevance(items.filter(isRow)))
    packed.push(...(alike.length < minRows ? alike : inPacks(alike)));
  return packed;
}

function groupByRelevance(rows: readonly RelevantItem[]): RelevantItem[][] {
  const groups: RelevantItem[][] = [];
  for (const row of rows.toSorted((a, b) => b.relevance - a.relevance)) {
    const open = groups.at(-1);
    if (open?.[0] !== undefined && open[0].relevance - row.relevance <= equalRelevance) open.push(row);
    else groups.push([row]);
  }
  return groups;
}

function inPacks(rows: readonly RelevantItem[]): RelevantItem[] {
  const packs: RelevantItem[][] = [];
  let chars = 0;
  for (const row of rows.toSorted((a, b) => a.position - b.position)) {
    const open = packs.at(-1);
    if (open === undefined || open.length >= maxRows || chars + row.content.length > maxChars) {
      packs.push([row]);
      chars = row.content.length;
    } else {
      open.push(row);
      chars += row.content.length;
    }
  }
  return packs.flatMap((pack) => {
    const [first] = pack;
    if (first === undefined || pack.length === 1) return pack;
    const { title, link, ...rest } = first;
    const isShared = (key: 'title' | 'link') => pack.every((row) => row[key] === first[key]);
    return [
      {
        ...rest,
        ...(title !== undefined && isShared('title') ? { title } : {}),
        ...(link !== undefined && isShared('link') ? { link } : {}),
        content: pack.map(({ content }) => content.replaceAll('\n', ', ')).join('\n'),
        relevance: Math.max(...pack.map(({ relevance }) => relevance)),
      },
    ];
  });
}
