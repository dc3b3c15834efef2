/** The result of a tool, a resource or a prompt; each part is rendered by its type. */
import { useState } from 'react';
import type { Json } from '../api.ts';
import { isObject, readJson } from '../schema.ts';
import { bytes } from '../words.ts';
import { CopyButton } from './copy-button.tsx';
import { JsonTree } from './json-tree.tsx';
import { Markdown, SafeLink } from './markdown.tsx';
import { looksLikeMarkdown } from './markdown-blocks.ts';
import { Notice } from './notice.tsx';

export function ResultView({ result }: { result: Json }) {
  const content = objectsOf(result.content);
  const resources = objectsOf(result.contents);
  const messages = objectsOf(result.messages);
  const isEmpty = content.length + resources.length + messages.length === 0 && result.structuredContent === undefined;
  return (
    <div className="result">
      {result.isError === true && <Notice tone="bad">The tool returned an error:</Notice>}
      {typeof result.description === 'string' && <p className="dim">{result.description}</p>}
      {content.map((piece, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a result does not change
        <Piece key={place} piece={piece} />
      ))}
      {resources.map((resource, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a result does not change
        <ResourcePiece key={place} resource={resource} />
      ))}
      {messages.map(({ role, content: piece }, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a result does not change
        <section key={place}>
          <h3>{String(role)}</h3>
          {isObject(piece) ? <Piece piece={piece} /> : <JsonTree value={piece} />}
        </section>
      ))}
      {result.structuredContent !== undefined && !repeats(content, result.structuredContent) && (
        <section>
          <h3>Structured content</h3>
          <JsonTree value={result.structuredContent} />
        </section>
      )}
      {isEmpty && <p className="dim">The result is empty.</p>}
      <RawResult result={result} />
    </div>
  );
}

const objectsOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Servers repeat their structured content as text, for older clients. */
function repeats([only, ...others]: Json[], structured: unknown): boolean {
  if (others.length > 0 || only?.type !== 'text' || typeof only.text !== 'string') return false;
  const read = jsonIn(only.text);
  return read !== undefined && JSON.stringify(read) === JSON.stringify(structured);
}

function RawResult({ result }: { result: Json }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Raw result</summary>
      {open && (
        <>
          <CopyButton text={() => JSON.stringify(result, null, 2)} />
          <PlainText text={JSON.stringify(result, null, 2)} />
        </>
      )}
    </details>
  );
}

function Piece({ piece }: { piece: Json }) {
  switch (piece.type) {
    case 'text':
      return <TextPiece text={String(piece.text ?? '')} />;
    case 'image':
      return <img src={dataUrl(piece.mimeType, piece.data, 'image/')} alt="From the server" />;
    case 'audio':
      return (
        // biome-ignore lint/a11y/useMediaCaption: the tool sends no captions
        <audio controls src={dataUrl(piece.mimeType, piece.data, 'audio/')} />
      );
    case 'resource_link':
      return (
        <p>
          <SafeLink href={String(piece.uri)}>{String(piece.title ?? piece.name ?? piece.uri)}</SafeLink>{' '}
          {typeof piece.description === 'string' && <span className="dim">{piece.description}</span>}
        </p>
      );
    case 'resource':
      return <ResourcePiece resource={isObject(piece.resource) ? piece.resource : {}} />;
    default:
      return <JsonTree value={piece} />;
  }
}

/** Longer texts are not formatted: thousands of elements would make the page slow. */
const maxFormatted = 100_000;

function TextPiece({ text }: { text: string }) {
  const json = jsonIn(text);
  if (json !== undefined) return <JsonTree value={json} />;
  if (text.length > maxFormatted || !looksLikeMarkdown(text)) return <PlainText text={text} />;
  return <Markdown text={text} />;
}

const maxShown = 100_000;

function PlainText({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const isCut = text.length > maxShown && !whole;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <pre tabIndex={0}>{isCut ? text.slice(0, maxShown) : text}</pre>
      {isCut && (
        <p className="actions">
          <span className="dim">
            The first {bytes(maxShown)} of {bytes(text.length)}.
          </span>
          <button type="button" className="small" onClick={() => setWhole(true)}>
            Show all
          </button>
          <CopyButton text={text} />
        </p>
      )}
    </>
  );
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

const jsonIn = (text: string): unknown => (/^\s*[[{]/.test(text) ? readJson(text)?.value : undefined);
