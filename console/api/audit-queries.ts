/** What is asked of the API about who did what. */
import { infiniteQueryOptions } from '@tanstack/react-query';
import { hrefOf, type Resource } from './link.ts';
import { everyPage } from './pages.ts';
import { request } from './request.ts';
import type { Organization } from './resources.ts';

export interface AuditRecord extends Resource {
  id: string;
  created_at: string;
  user: { id: string; display_name: string };
  operation: string;
  kind: string;
  summary: string;
  target: string;
  subject: { id: string; display_name: string } | null;
  project_id: string | null;
  activity_id: string | null;
  address: string;
}

/** As the address of the page has them. Days are those of the reader. */
export interface AuditFilter {
  person?: string;
  kind?: string;
  project?: string;
  from?: string;
  to?: string;
}

interface AuditPage extends Resource {
  items: readonly AuditRecord[];
  count: number;
}

const pageSize = 50;

function hrefWith(organization: Organization, { person, kind, project, from, to }: AuditFilter, size: number): string {
  const parameters = new URLSearchParams({ sort: '-created_at', 'page[size]': String(size) });
  if (person) parameters.set('filter[user_id]', person);
  if (kind) parameters.set('filter[kind]', kind);
  if (project) parameters.set('filter[project_id]', project);
  if (from) parameters.set('filter[created_at][gte]', startOfDay(from).toISOString());
  if (to) parameters.set('filter[created_at][lt]', startOfDay(to, 1).toISOString());
  return `${hrefOf(organization, 'audit')}?${parameters.toString()}`;
}

/** The beginning of a day such as 2026-01-31, or so many days later. */
function startOfDay(day: string, later = 0): Date {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date + later);
}

export const auditQuery = (organization: Organization, filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ['organizations', organization.id, 'audit', filter],
    queryFn: ({ pageParam, signal }) => request<AuditPage>('GET', pageParam, undefined, signal),
    initialPageParam: hrefWith(organization, filter, pageSize),
    getNextPageParam: (page: AuditPage) => hrefOf(page, 'next'),
    staleTime: 0,
  });

/** A file has so many records at most. */
const pagesOfFileMax = 500;

/** All that the filter lets through, for a file. */
export const everyAuditRecord = (organization: Organization, filter: AuditFilter) =>
  everyPage<AuditRecord>(hrefWith(organization, filter, 100), new AbortController().signal, pagesOfFileMax);
