/** The Markdown that tools answer with, as elements: nothing of it ever becomes HTML. */
import type { ReactNode } from 'react';
import { type Block, toBlocks, toInline } from './markdown-blocks.ts';

export function Markdown({ text }: { text: string }) {
  return <div className="markdown">{toBlocks(text).map((block, place) => renderBlock(block, `${place}`))}</div>;
}

function renderBlock(block: Block, key: string): ReactNode {
  switch (block.kind) {
    case 'heading':
      // A result is part of a page that has headings of its own.
      return (
        <p key={key} className={`heading level-${block.level}`}>
          {inline(block.text)}
        </p>
      );
    case 'code':
      return <pre key={key}>{block.text}</pre>;
    case 'list': {
      // biome-ignore lint/suspicious/noArrayIndexKey: an answer does not change
      const items = block.items.map((item, place) => <li key={place}>{inline(item)}</li>);
      return block.ordered ? <ol key={key}>{items}</ol> : <ul key={key}>{items}</ul>;
    }
    case 'quote':
      return <blockquote key={key}>{inline(block.text)}</blockquote>;
    case 'paragraph':
      return (
        <p key={key} className="lines">
          {inline(block.text)}
        </p>
      );
  }
}

function inline(text: string): ReactNode[] {
  return toInline(text).map((part, place) => {
    const key = `${place}`;
    switch (part.kind) {
      case 'code':
        return <code key={key}>{part.text}</code>;
      case 'strong':
        return <strong key={key}>{part.text}</strong>;
      case 'link':
        return <SafeLink key={key} href={part.href} text={part.text} />;
      default:
        return part.text;
    }
  });
}

/** A link in a tool's answer: opens in a new tab, without a referrer. */
export function SafeLink({ href, text }: { href: string; text: string }) {
  if (!/^https?:\/\//i.test(href)) return <code>{href}</code>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {text}
    </a>
  );
}
