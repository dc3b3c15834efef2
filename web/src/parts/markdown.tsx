/** The Markdown that servers write, as elements: nothing of it ever becomes HTML, and nothing is loaded from its links. */
import { type ReactNode, useMemo } from 'react';
import { type Block, toBlocks } from './markdown-blocks.ts';
import { type Inline, toInline } from './markdown-inline.ts';
import { Scroll } from './scroll.tsx';

export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => toBlocks(text), [text]);
  return <div className="markdown">{renderBlocks(blocks)}</div>;
}

/** One line of it, without blocks. */
export function InlineMarkdown({ text }: { text: string }) {
  return renderText(text);
}

const renderBlocks = (blocks: readonly Block[]) => blocks.map((block, place) => renderBlock(block, `${place}`));
const renderText = (text: string) => renderInline(toInline(text.replace(/<br ?\/?>/gi, '\n')));

function renderBlock(block: Block, key: string): ReactNode {
  switch (block.kind) {
    case 'heading':
      // A result is part of a page that has headings of its own.
      return (
        <p key={key} className={`heading level-${block.level}`}>
          {renderText(block.text)}
        </p>
      );
    case 'code':
      return <pre key={key}>{block.text}</pre>;
    case 'rule':
      return <hr key={key} />;
    case 'quote':
      return <blockquote key={key}>{renderBlocks(block.blocks)}</blockquote>;
    case 'list': {
      // biome-ignore lint/suspicious/noArrayIndexKey: an answer does not change
      const items = block.items.map((item, place) => <li key={place}>{renderItem(item)}</li>);
      return block.start === undefined ? (
        <ul key={key}>{items}</ul>
      ) : (
        <ol key={key} start={block.start}>
          {items}
        </ol>
      );
    }
    case 'table':
      return <Table key={key} table={block} />;
    case 'paragraph':
      return (
        <p key={key} className="lines">
          {renderText(block.text)}
        </p>
      );
  }
}

/** The text of an item, without a paragraph of its own. */
function renderItem([first, ...rest]: Block[]): ReactNode {
  if (first === undefined) return null;
  if (first.kind !== 'paragraph') return renderBlocks([first, ...rest]);
  return (
    <>
      <span className="lines">{renderText(first.text)}</span>
      {renderBlocks(rest)}
    </>
  );
}

function Table({ table: { columns, rows } }: { table: Extract<Block, { kind: 'table' }> }) {
  const classOf = (place: number) => {
    const align = columns[place]?.align;
    return align === undefined ? undefined : `align-${align}`;
  };
  return (
    <Scroll label="Table">
      <table>
        <thead>
          <tr>
            {columns.map(({ text }, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: an answer does not change
              <th key={place} scope="col" className={classOf(place)}>
                {renderText(text)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an answer does not change
            <tr key={row}>
              {cells.map((cell, place) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: an answer does not change
                <td key={place} className={classOf(place)}>
                  {renderText(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

const tags = { strong: 'strong', emphasis: 'em', deleted: 'del' } as const;

function renderInline(parts: readonly Inline[]): ReactNode[] {
  return parts.map((part, place) => {
    const key = `${place}`;
    switch (part.kind) {
      case 'text':
        return part.text;
      case 'code':
        return <code key={key}>{part.text}</code>;
      case 'link':
        return (
          <SafeLink key={key} href={part.href}>
            {renderInline(part.parts)}
          </SafeLink>
        );
      default: {
        const Tag = tags[part.kind];
        return <Tag key={key}>{renderInline(part.parts)}</Tag>;
      }
    }
  });
}

/** A link that a server wrote: opens in a new tab, without a referrer. */
export function SafeLink({ href, children }: { href: string; children: ReactNode }) {
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return <code>{href}</code>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {children}
    </a>
  );
}
