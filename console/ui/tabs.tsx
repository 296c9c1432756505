/**
 * The pages of a project, an environment, an organization or an account, as tabs. The table of routes is the table of tabs: a route that says what its tab
 * is called has one, in the order of the table, as long as the resource has the link that the page is about.
 */
import { Link, type RegisteredRouter, useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { linkOf, type Resource } from '../api/link.ts';

export interface Tab {
  name: string;
  /** The page is of use only to those whose resource carries this link; without one it is there for everybody. */
  link?: string;
}

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    tab?: Tab;
  }
}

interface Tabs {
  label: string;
  /** The route whose pages these are. */
  of: keyof RegisteredRouter['routesById'];
  params: Readonly<Record<string, string>>;
  resource: Resource | undefined;
  /** What stands beside the name of a tab. */
  beside?: Readonly<Record<string, ReactNode>>;
}

export function Tabs({ label, of, params, resource, beside }: Tabs) {
  const nav = useRef<HTMLElement>(null);
  const { routesById } = useRouter();
  const pages = Object.values((routesById[of]?.children ?? []) as readonly Page[]);
  useEffect(() => {
    // Newer browsers answer with a promise, which an effect must not.
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });
  return (
    <nav className="tabs" aria-label={label} ref={nav}>
      {pages
        .filter(({ options }) => isShown(options.staticData?.tab, resource))
        .map(({ fullPath, path, options }) => (
          <Link key={fullPath} to={fullPath} params={params} activeOptions={{ exact: path === '/' }}>
            {options.staticData?.tab?.name}
            {beside?.[options.staticData?.tab?.name ?? '']}
          </Link>
        ))}
    </nav>
  );
}

/** What is read of a route. */
interface Page {
  fullPath: string;
  path: string;
  options: { staticData?: { tab?: Tab } };
}

const isShown = (tab: Tab | undefined, resource: Resource | undefined) =>
  tab !== undefined && (tab.link === undefined || linkOf(resource, tab.link) !== undefined);
