/** The Markdown that tools answer with, taken apart. Servers write it, so every expression here takes linear time. */

export function looksLikeMarkdown(text: string): boolean {
  return (
    /^(#{1,6} |[-*] |\d+\. |> |```|\|.+\|)/m.test(text) || /\*\*[^*\n]+\*\*|`[^`\n]+`|\[[^[\]\n]+\]\(https?:/.test(text)
  );
}

export type Block =
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'list'; ordered: boolean; items: string[] }
  | { kind: 'quote' | 'paragraph'; text: string };

export function toBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.split(/\r\n?|\n/);
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? '';
    const heading = /^(#{1,6}) /.exec(line);
    if (line.startsWith('```')) {
      const stop = endOf(lines, at, (other) => !other.startsWith('```'));
      blocks.push({ kind: 'code', text: lines.slice(at + 1, stop).join('\n') });
      at = stop + 1;
    } else if (heading !== null) {
      const level = heading[1]?.length ?? 1;
      blocks.push({ kind: 'heading', level, text: line.slice(level).trim() });
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

export type Inline = { kind: 'text' | 'code' | 'strong'; text: string } | { kind: 'link'; text: string; href: string };

/** No alternative reads past the next place where it could begin itself: that is what keeps this linear. */
const inlinePattern = /(`[^`]+`|\*\*[^*]+\*\*|\[[^[\]]+\]\(https?:\/\/[^)\s[]+\))/;

export function toInline(text: string): Inline[] {
  return text.split(inlinePattern).flatMap((part): Inline[] => {
    if (part === '') return [];
    if (part.startsWith('`') && part.length > 2) return [{ kind: 'code', text: part.slice(1, -1) }];
    if (part.startsWith('**') && part.length > 4) return [{ kind: 'strong', text: part.slice(2, -2) }];
    const link = /^\[([^[\]]+)\]\((https?:[^)]+)\)$/.exec(part);
    return [link === null ? { kind: 'text', text: part } : { kind: 'link', text: link[1] ?? '', href: link[2] ?? '' }];
  });
}
