import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef } from 'react';
import { linkWith, pushParameters, usePlace } from '../route.ts';
import styles from './panel.module.css';

/**
 * Details beside a list. It is open while its parameter is in the address, so that it can be linked to, and Back closes
 * it; the list stays usable. The focus moves into it and returns to what opened it.
 */
export function Panel({ title, parameter, children }: { title: string; parameter: string; children: ReactNode }) {
  const panel = useRef<HTMLElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    panel.current?.focus({ preventScroll: true });
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true });
    };
  }, []);
  const close = () => pushParameters({ [parameter]: undefined });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    event.preventDefault();
    close();
  };
  return (
    <section
      ref={panel}
      className={styles.panel}
      role="dialog"
      aria-labelledby={id}
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" className="quiet icon" aria-label="Close" onClick={close}>
          ✕
        </button>
      </header>
      {children}
    </section>
  );
}

/** Opens a panel on the page as it is; drawn again when a filter in the address changes. */
export function PanelLink({
  parameter,
  value,
  children,
  ...more
}: {
  parameter: string;
  value: string;
  children: ReactNode;
  className?: string;
  'aria-label'?: string;
}) {
  usePlace();
  return (
    <a href={linkWith({ [parameter]: value })} {...more}>
      {children}
    </a>
  );
}
