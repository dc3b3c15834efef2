import { useState } from 'react';

export function CopyButton({ text, children = 'Copy' }: { text: string | (() => string); children?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(typeof text === 'string' ? text : text());
    setCopied(true);
    window.setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <button type="button" className="small" onClick={copy}>
      <span aria-live="polite">{copied ? 'Copied' : children}</span>
    </button>
  );
}
