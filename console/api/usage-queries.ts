/** What is asked of the API about what projects use and cost. */
import { queryOptions } from '@tanstack/react-query';
import { hrefOf, type Resource } from './link.ts';
import { everyPage } from './pages.ts';
import { request } from './request.ts';
import type { Organization } from './resources.ts';

/** The contract of a project. */
export interface Subscription extends Resource {
  id: string;
  project_id: string;
  project_title: string;
}

export const subscriptionsQuery = (organization: Organization) =>
  queryOptions({
    queryKey: ['organizations', organization.id, 'subscriptions'],
    queryFn: async ({ signal }) =>
      (await everyPage<Subscription>(`${hrefOf(organization, 'subscriptions')}?page[size]=100&filter[status]=active`, signal)).items,
    enabled: hrefOf(organization, 'subscriptions') !== undefined,
  });

export interface GroupUsage {
  title: string;
  current_usage: number;
  current_usage_formatted: string;
  daily_average: number;
  daily_average_formatted: string;
  free_quantity: number;
  free_quantity_formatted: string;
}

export const usageQuery = (subscription: Subscription) =>
  queryOptions({
    queryKey: ['subscriptions', subscription.id, 'usage'],
    queryFn: ({ signal }) =>
      request<Readonly<Record<string, GroupUsage>>>(
        'GET',
        `${hrefOf(subscription, 'self')}/current_usage?include_not_charged=true`,
        undefined,
        signal,
      ),
  });

/** Currency XXX: the operator set no price list. */
export interface Estimate {
  total: { formatted: string; amount: number; currency_code: string };
}

export const estimateQuery = (subscription: Subscription) =>
  queryOptions({
    queryKey: ['subscriptions', subscription.id, 'estimate'],
    queryFn: ({ signal }) => request<Estimate>('GET', `${hrefOf(subscription, 'self')}/estimate?format=complex`, undefined, signal),
  });
