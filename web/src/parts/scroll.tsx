import type { ReactNode } from 'react';

/** What is wider than the screen scrolls, with the keyboard as well. */
export function Scroll({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
