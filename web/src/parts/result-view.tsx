/** The result of a tool; each part is rendered by its type. */
import type { Json } from '../api.ts';
import { CopyButton } from './copy-button.tsx';
import { JsonTree } from './json-tree.tsx';
import { Markdown, SafeLink } from './markdown.tsx';
import { looksLikeMarkdown } from './markdown-blocks.ts';
import { Notice } from './notice.tsx';

export function ResultView({ result }: { result: Json }) {
  const content = Array.isArray(result.content) ? (result.content as Json[]) : [];
  return (
    <div className="result">
      {result.isError === true && <Notice tone="bad">The tool returned an error:</Notice>}
      {content.map((piece, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an answer does not change
        <Piece key={place} piece={piece} />
      ))}
      {result.structuredContent !== undefined && (
        <section>
          <h3>Structured content</h3>
          <JsonTree value={result.structuredContent} />
        </section>
      )}
      {content.length === 0 && result.structuredContent === undefined && <p className="dim">The result is empty.</p>}
      <details>
        <summary>Raw answer</summary>
        <CopyButton text={() => JSON.stringify(result, null, 2)} />
        <pre>{JSON.stringify(result, null, 2)}</pre>
      </details>
    </div>
  );
}

function Piece({ piece }: { piece: Json }) {
  const text = String(piece.text ?? '');
  switch (piece.type) {
    case 'text':
      return <TextPiece text={text} />;
    case 'image':
      return <img src={dataUrl(piece.mimeType, piece.data, 'image/')} alt="The tool's answer" />;
    case 'audio':
      return (
        // biome-ignore lint/a11y/useMediaCaption: the tool sends no captions
        <audio controls src={dataUrl(piece.mimeType, piece.data, 'audio/')} />
      );
    case 'resource_link':
      return (
        <p>
          <SafeLink href={String(piece.uri)} text={String(piece.title ?? piece.name ?? piece.uri)} />{' '}
          {typeof piece.description === 'string' && <span className="dim">{piece.description}</span>}
        </p>
      );
    case 'resource':
      return <ResourcePiece resource={(piece.resource ?? {}) as Json} />;
    default:
      return <JsonTree value={piece} />;
  }
}

function TextPiece({ text }: { text: string }) {
  const json = parsed(text);
  if (json !== undefined) return <JsonTree value={json} />;
  return looksLikeMarkdown(text) ? <Markdown text={text} /> : <pre>{text}</pre>;
}

function ResourcePiece({ resource }: { resource: Json }) {
  const type = String(resource.mimeType ?? '');
  return (
    <section>
      <p className="dim">
        <code>{String(resource.uri)}</code> {type}
      </p>
      {typeof resource.text === 'string' && <TextPiece text={resource.text} />}
      {typeof resource.blob === 'string' && type.startsWith('image/') && (
        <img src={dataUrl(type, resource.blob, 'image/')} alt={String(resource.uri)} />
      )}
      {typeof resource.blob === 'string' && !type.startsWith('image/') && (
        <p className="dim">{Math.round(resource.blob.length * 0.75)} bytes</p>
      )}
    </section>
  );
}

/** Accepts only matching media types: an "image" of type text/html is rejected. */
function dataUrl(type: unknown, data: unknown, kind: 'image/' | 'audio/'): string {
  const given = String(type);
  return `data:${given.startsWith(kind) && /^[\w/+.-]+$/.test(given) ? given : `${kind}*`};base64,${String(data)}`;
}

function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // text that only begins like JSON
  }
}
