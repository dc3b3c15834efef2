import type { MouseEvent, ReactNode } from 'react';
import { linkWith, type Parameters, pushParameters } from '../route.ts';

/** Opens a panel beside the list as it is now: rows are drawn once, while filters in the address change. */
export function PanelLink({ parameters, children }: { parameters: Parameters; children: ReactNode }) {
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    pushParameters(parameters);
  };
  return (
    <a href={linkWith(parameters)} onClick={open}>
      {children}
    </a>
  );
}
