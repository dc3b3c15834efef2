/** The Markdown that tools answer with, as elements: nothing of it ever becomes HTML. */
import type { ReactNode } from 'react';

export function looksLikeMarkdown(text: string): boolean {
  return (
    /^(#{1,6} |[-*] |\d+\. |> |```|\|.+\|)/m.test(text) || /\*\*[^*\n]+\*\*|`[^`\n]+`|\[[^\]\n]+\]\(https?:/.test(text)
  );
}

export function Markdown({ text }: { text: string }) {
  return <div className="markdown">{toBlocks(text).map((block, place) => renderBlock(block, `${place}`))}</div>;
}

type Block =
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'list'; ordered: boolean; items: string[] }
  | { kind: 'quote' | 'paragraph'; text: string };

export function toBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? '';
    const heading = /^(#{1,6}) +(.*)$/.exec(line);
    if (line.startsWith('```')) {
      const end = lines.findIndex((other, place) => place > at && other.startsWith('```'));
      const stop = end === -1 ? lines.length : end;
      blocks.push({ kind: 'code', text: lines.slice(at + 1, stop).join('\n') });
      at = stop + 1;
    } else if (heading !== null) {
      blocks.push({ kind: 'heading', level: heading[1]?.length ?? 1, text: heading[2] ?? '' });
      at += 1;
    } else if (listItem.test(line)) {
      const end = endOf(lines, at, (other) => listItem.test(other) || /^\s+\S/.test(other));
      const items = lines.slice(at, end).map((item) => item.replace(listItem, ''));
      blocks.push({ kind: 'list', ordered: /^\s*\d/.test(line), items });
      at = end;
    } else if (line.startsWith('>')) {
      const end = endOf(lines, at, (other) => other.startsWith('>'));
      const quoted = lines.slice(at, end).map((other) => other.replace(/^> ?/, ''));
      blocks.push({ kind: 'quote', text: quoted.join('\n') });
      at = end;
    } else if (line.trim() === '') {
      at += 1;
    } else {
      const end = endOf(
        lines,
        at,
        (other) => other.trim() !== '' && !/^(#{1,6} |```|>)/.test(other) && !listItem.test(other),
      );
      blocks.push({ kind: 'paragraph', text: lines.slice(at, end).join('\n') });
      at = end;
    }
  }
  return blocks;
}

const listItem = /^\s*([-*+]|\d+[.)]) +/;

/** Always past the line it starts at: a line that begins a block belongs to it. */
function endOf(lines: string[], start: number, belongs: (line: string) => boolean): number {
  let end = start + 1;
  while (end < lines.length && belongs(lines[end] ?? '')) end += 1;
  return end;
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

const inlinePattern = /(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\(https?:\/\/[^)\s]+\))/g;

function inline(text: string): ReactNode[] {
  return text.split(inlinePattern).map((part, place) => {
    const key = `${place}`;
    if (part.startsWith('`') && part.length > 2) return <code key={key}>{part.slice(1, -1)}</code>;
    if (part.startsWith('**') && part.length > 4) return <strong key={key}>{part.slice(2, -2)}</strong>;
    const link = /^\[([^\]]+)\]\((https?:[^)]+)\)$/.exec(part);
    if (link === null) return part;
    return <SafeLink key={key} href={link[2] ?? ''} text={link[1] ?? ''} />;
  });
}

/** A link out of a tool's answer: it opens elsewhere, and does not learn where it was clicked. */
export function SafeLink({ href, text }: { href: string; text: string }) {
  if (!/^https?:\/\//i.test(href)) return <code>{href}</code>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {text}
    </a>
  );
}
