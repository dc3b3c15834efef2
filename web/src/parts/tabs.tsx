import { type KeyboardEvent, type ReactNode, useEffect, useId } from 'react';

export interface Tab {
  id: string;
  name: string;
  href: string;
  /** Beside the name; a badge where it needs attention. */
  mark?: ReactNode;
}

const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

/** Tabs with addresses of their own; arrow keys move between them. */
export function Tabs({
  label,
  tabs,
  current,
  children,
}: {
  label: string;
  tabs: readonly Tab[];
  current: string;
  children: ReactNode;
}) {
  const base = useId();
  // On a phone they are wider than the window.
  useEffect(() => {
    document.getElementById(`${base}-${current}`)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [base, current]);
  const move = (event: KeyboardEvent<HTMLElement>) => {
    const place = tabs.findIndex(({ id }) => id === current);
    const target =
      event.key === 'Home' ? 0 : event.key === 'End' ? tabs.length - 1 : place + (steps[event.key] ?? Number.NaN);
    const tab = tabs[target];
    if (tab === undefined) return;
    event.preventDefault();
    window.location.hash = tab.href;
    document.getElementById(`${base}-${tab.id}`)?.focus();
  };
  return (
    <>
      <div className="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map(({ id, name, href, mark }) => (
          <a
            key={id}
            id={`${base}-${id}`}
            role="tab"
            href={href}
            aria-selected={id === current}
            aria-controls={`${base}-panel`}
            tabIndex={id === current ? 0 : -1}
          >
            {name} {mark}
          </a>
        ))}
      </div>
      <div id={`${base}-panel`} role="tabpanel" aria-labelledby={`${base}-${current}`}>
        {children}
      </div>
    </>
  );
}
