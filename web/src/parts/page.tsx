import type { ReactNode } from 'react';
import { useTitle } from '../route.ts';

interface Crumb {
  name: string;
  href: string;
}

/** The frame of every page: its title in the window and as the heading, what can be done on it, and where it belongs. */
export function Page({
  title,
  badge,
  crumbs = [],
  lead,
  actions,
  children,
}: {
  title: string;
  badge?: ReactNode;
  crumbs?: readonly Crumb[];
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useTitle([title, ...crumbs.map(({ name }) => name).reverse()].join(' · '));
  return (
    <>
      <div className="title">
        <div className="titles">
          {crumbs.length > 0 && (
            <p className="crumbs">
              {crumbs.map(({ name, href }) => (
                <span key={href}>
                  <a href={href}>{name}</a> /{' '}
                </span>
              ))}
            </p>
          )}
          <h1>{title}</h1>
          {badge}
        </div>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </div>
      {lead !== undefined && <p className="lead">{lead}</p>}
      {children}
    </>
  );
}
