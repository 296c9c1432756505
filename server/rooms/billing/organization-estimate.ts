import { Type } from 'typebox';
import type { MonthEstimate } from './estimate.ts';
import { projectLines, rounded, sumOf } from './reckon.ts';
import { Money, moneyIn } from './shown-money.ts';

const Counted = Type.Object({ count: Type.Integer(), total: Money });

export const OrganizationEstimate = Type.Object({
  total: Money,
  sub_total: Money,
  vouchers: Money,
  user_licenses: Type.Object({
    base: Type.Object({ ...Counted.properties, list: Type.Object({ admin_user: Counted, viewer_user: Counted }) }),
    user_management: Type.Object({
      ...Counted.properties,
      list: Type.Object({ standard_management_user: Counted, advanced_management_user: Counted }),
    }),
  }),
  user_management: Money,
  support_level: Money,
  subscriptions: Type.Object({
    total: Money,
    list: Type.Array(
      Type.Object({
        license_id: Type.String(),
        project_title: Type.String(),
        total: Money,
        usage: Type.Object({ cpu: Type.Number(), memory: Type.Number(), storage: Type.Number(), environments: Type.Integer() }),
      }),
    ),
  }),
});

const gigabyte = 1024;

export function shownOrganizationEstimate({ lines, totals, currency, facts, users, allocated }: MonthEstimate, format: string | undefined) {
  const money = moneyIn(format, currency);
  const costOf = (isMeant: (sku: string) => boolean) => sumOf(lines.filter(({ project, sku }) => !project && isMeant(sku)));
  const everybody = users.admin_users + users.viewer_users;
  const management = costOf((sku) => sku.startsWith('user_management:'));
  const managed = (level: string) => ({
    count: users.user_management === level ? everybody : 0,
    total: money(costOf((sku) => sku === `user_management:${level}`)),
  });
  const subscriptions = facts.projects
    .filter(({ id, spans }) => spans.length > 0 || allocated.some(({ project_id }) => project_id === id))
    .map((project) => ({ project, total: sumOf(projectLines(facts, project)) }));
  return {
    total: money(totals.total),
    sub_total: money(totals.baseprice),
    vouchers: money(totals.voucher),
    user_licenses: {
      base: {
        count: everybody,
        total: money(costOf((sku) => sku === 'admin_user' || sku === 'viewer_user')),
        list: {
          admin_user: { count: users.admin_users, total: money(costOf((sku) => sku === 'admin_user')) },
          viewer_user: { count: users.viewer_users, total: money(costOf((sku) => sku === 'viewer_user')) },
        },
      },
      user_management: {
        count: users.user_management === '' ? 0 : everybody,
        total: money(management),
        list: { standard_management_user: managed('standard'), advanced_management_user: managed('advanced') },
      },
    },
    user_management: money(management),
    support_level: money(costOf((sku) => sku.startsWith('support_level:'))),
    subscriptions: {
      total: money(sumOf(subscriptions.map(({ total }) => ({ amount: total })))),
      list: subscriptions.map(({ project, total }) => ({
        license_id: String(project.subscription_id),
        project_title: project.title,
        total: money(total),
        usage: usageOf(allocated.filter(({ project_id }) => project_id === project.id)),
      })),
    },
  };
}

function usageOf(allocated: MonthEstimate['allocated']) {
  const sum = (of: (each: MonthEstimate['allocated'][number]) => number) => allocated.reduce((total, each) => total + of(each), 0);
  return {
    cpu: rounded(sum(({ cpu }) => cpu)),
    memory: rounded(sum(({ memory }) => memory) / gigabyte),
    storage: rounded(sum(({ kind, disk }) => (kind === 'backups' ? 0 : disk)) / gigabyte),
    environments: allocated.reduce((most, { environments }) => Math.max(most, environments), 0),
  };
}
