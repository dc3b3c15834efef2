import { useRef, useState } from 'react';
import { Dialog } from './dialog.tsx';

/** Copies a text; where the browser does not allow it, shows the text to copy by hand. */
export function CopyButton({ text, children = 'Copy' }: { text: string | (() => string); children?: string }) {
  const [copied, setCopied] = useState(false);
  const [byHand, setByHand] = useState<string>();
  const copy = async () => {
    const copying = typeof text === 'string' ? text : text();
    if (!(await copyText(copying))) return setByHand(copying);
    setCopied(true);
    window.setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <>
      <button type="button" className="small" onClick={() => void copy()}>
        <span aria-live="polite">{copied ? 'Copied' : children}</span>
      </button>
      {byHand !== undefined && <CopyByHand text={byHand} onClose={() => setByHand(undefined)} />}
    </>
  );
}

/** Without a secure context (http:// on another host) there is no clipboard. */
async function copyText(text: string): Promise<boolean> {
  if (!window.isSecureContext) return false;
  return await navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  );
}

function CopyByHand({ text, onClose }: { text: string; onClose: () => void }) {
  const area = useRef<HTMLTextAreaElement>(null);
  return (
    <Dialog title="Copy manually" onClose={onClose}>
      <p>The browser does not allow copying on this page: select the text and press Ctrl-C.</p>
      <textarea
        ref={area}
        className="code wide"
        aria-label="Text to copy"
        rows={6}
        readOnly
        value={text}
        onFocus={() => area.current?.select()}
      />
    </Dialog>
  );
}
