/**
 * What a month costs, from facts alone: pure functions over whole numbers. Each line is an exact fraction until it is rounded, once, to the smallest unit of the
 * currency; everything above it is a sum of lines, so it adds up to the cent. When prices change within the month, each day has its own.
 */
import { daysBetween, startOf, endOf, type Day } from '../../kernel/days.ts';
import type { UsageDay } from '../metering/public.ts';
import {
  decimal,
  dividedBy,
  featureNames,
  features,
  listOn,
  minorOf,
  one,
  priceOf,
  type Currency,
  type Feature,
  type FeatureName,
  type PriceContent,
  type PriceList,
} from '../prices/public.ts';
import { endOfMonth, secondsOf, type Month } from './month.ts';

export const lineTypes = ['project_plan', 'project_feature', 'organization_feature'] as const;

export interface Line {
  type: (typeof lineTypes)[number];
  /** Of lines of a project. */
  project?: { id: string; subscription_id: number; title: string };
  sku: string;
  /** As people read it. */
  product: string;
  /** How much of it, with its unit; empty where it is one for the month. */
  quantity: string;
  amount: bigint;
}

/** A contract of a project over some of the month. Times are Unix milliseconds. */
export interface PlanSpan {
  plan: string;
  options: Record<string, string>;
  from: number;
  to: number;
}

export interface ProjectFacts {
  id: string;
  subscription_id: number;
  title: string;
  isGreen: boolean;
  spans: readonly PlanSpan[];
  usage: readonly Pick<UsageDay, 'kind' | 'day' | 'sums'>[];
}

export interface UsersOfDay {
  admin_users: number;
  viewer_users: number;
  user_management: string;
  support_level: string;
}

export interface MonthFacts {
  month: Month;
  currency: Currency;
  lists: readonly PriceList[];
  projects: readonly ProjectFacts[];
  /** Of the days that count; those to come have none. */
  users: ReadonlyMap<Day, UsersOfDay>;
}

const hundred = 100n * one;

/** All that is charged, projects first. What costs nothing has no line. */
export function linesOf(facts: MonthFacts): Line[] {
  const lines = [...facts.projects.flatMap((project) => projectLines(facts, project)), ...userLines(facts)];
  return [...lines, ...supportLines(facts, sumOf(lines))].filter(({ amount }) => amount !== 0n);
}

export const sumOf = (lines: readonly Pick<Line, 'amount'>[]): bigint => lines.reduce((sum, { amount }) => sum + amount, 0n);

export function projectLines(facts: MonthFacts, project: ProjectFacts): Line[] {
  const { id, subscription_id, title } = project;
  const whose = { id, subscription_id, title };
  return [
    ...planLines(facts, project.spans).map((line) => ({ ...line, project: whose })),
    ...featureNames.flatMap((name) => usageLine(facts, project, name) ?? []).map((line) => ({ ...line, project: whose })),
  ];
}

const pricesOn = ({ lists, currency }: Pick<MonthFacts, 'lists' | 'currency'>, day: Day): PriceContent =>
  listOn(lists, currency, day).content;

const daysOf = (month: Month) => daysBetween(month, endOfMonth(month));

type Charge = Omit<Line, 'project'>;

/** Plans and add-ons of a project are charged for the time in which they were had. */
function planLines(facts: MonthFacts, spans: readonly PlanSpan[]): Charge[] {
  const sums = new Map<string, { charge: Omit<Charge, 'amount'>; sum: bigint }>();
  const add = (charge: Omit<Charge, 'amount'>, price: string, milliseconds: number) => {
    const known = sums.get(charge.sku) ?? { charge, sum: 0n };
    sums.set(charge.sku, { ...known, sum: known.sum + decimal(price) * BigInt(milliseconds) });
  };
  for (const day of daysOf(facts.month)) {
    const { plans, addons } = pricesOn(facts, day);
    for (const { plan, options, from, to } of spans) {
      const milliseconds = Math.min(to, endOf(day)) - Math.max(from, startOf(day));
      if (milliseconds <= 0) continue;
      add({ type: 'project_plan', sku: plan, product: `Plan ${plan}`, quantity: '' }, priceOf(plans, plan), milliseconds);
      for (const [addon, levels] of Object.entries(addons)) {
        const level = options[addon];
        const product = `${addonTitles[addon] ?? addon}: ${level}`;
        if (level !== undefined)
          add({ type: 'project_feature', sku: `${addon}:${level}`, product, quantity: '' }, priceOf(levels, level), milliseconds);
      }
    }
  }
  const whole = BigInt(secondsOf(facts.month)) * 1000n * one;
  return [...sums.values()].map(({ charge, sum }) => ({ ...charge, amount: dividedBy(sum * minorOf(facts.currency), whole) }));
}

const addonTitles: Record<string, string> = {
  continuous_profiling: 'Continuous profiling',
  project_support_level: 'Support of the project',
};

/** How many of the metered quantity are one unit of the price. */
export const unitOf = ({ size, isAllocated }: Feature, month: Month): bigint => size * (isAllocated ? BigInt(secondsOf(month)) : 1n);

export const quantityOf = ({ of }: Feature, { kind, sums }: Pick<UsageDay, 'kind' | 'sums'>): bigint =>
  of !== undefined && (of.kinds as readonly string[]).includes(kind) ? sums[of.quantity] : 0n;

/** The first units that are used are free, as many as the list of the day says. */
function usageLine(facts: MonthFacts, { usage, isGreen }: ProjectFacts, name: FeatureName): Charge | undefined {
  const feature: Feature = features[name];
  const whole = unitOf(feature, facts.month);
  const byDay = new Map<Day, bigint>();
  for (const row of usage) byDay.set(row.day, (byDay.get(row.day) ?? 0n) + quantityOf(feature, row));
  let [used, freely, sum] = [0n, 0n, 0n];
  for (const day of daysOf(facts.month)) {
    const quantity = (byDay.get(day) ?? 0n) * one;
    if (quantity === 0n) continue;
    const { usage: prices, green_discount } = pricesOn(facts, day);
    const { price = '0', free = '0' } = prices[name] ?? {};
    const freeNow = least(quantity, most(0n, decimal(free) * whole - freely));
    const percent = hundred - (isGreen && feature.isGreen ? decimal(green_discount) : 0n);
    sum += (quantity - freeNow) * decimal(price) * percent;
    [used, freely] = [used + quantity, freely + freeNow];
  }
  const amount = dividedBy(sum * minorOf(facts.currency), whole * one * one * hundred);
  return {
    type: 'project_feature',
    sku: name,
    product: feature.title,
    quantity: `${quantityText(used, whole * one)} ${feature.unit}`,
    amount,
  };
}

const shownFractions = 1000;

/** Quantities are shown with three decimals at most. */
export const rounded = (quantity: number): number => Math.round(quantity * shownFractions) / shownFractions;

export function quantityText(quantity: bigint, unit: bigint): string {
  const fractions = BigInt(shownFractions);
  const shown = dividedBy(quantity * fractions, unit);
  const [whole, rest] = [shown / fractions, shown % fractions];
  return rest === 0n ? String(whole) : `${whole}.${String(rest).padStart(3, '0').replace(/0+$/, '')}`;
}

const least = (left: bigint, right: bigint) => (left < right ? left : right);
const most = (left: bigint, right: bigint) => (left > right ? left : right);

const licenceTitles = { admin_user: 'Users', viewer_user: 'Users who only look' } as const;

/** A user who was there on a day is charged for that day. */
export function userLines(facts: MonthFacts): Line[] {
  const days = BigInt(daysOf(facts.month).length);
  const sums = new Map<string, { product: string; userDays: bigint; sum: bigint }>();
  const add = (sku: string, product: string, users: number, price: string) => {
    const known = sums.get(sku) ?? { product, userDays: 0n, sum: 0n };
    sums.set(sku, { product, userDays: known.userDays + BigInt(users), sum: known.sum + BigInt(users) * decimal(price) });
  };
  for (const [day, { admin_users, viewer_users, user_management }] of facts.users) {
    const { licences, user_management: levels } = pricesOn(facts, day);
    add('admin_user', licenceTitles.admin_user, admin_users, priceOf(licences, 'admin_user'));
    add('viewer_user', licenceTitles.viewer_user, viewer_users, priceOf(licences, 'viewer_user'));
    if (user_management !== '')
      add(
        `user_management:${user_management}`,
        `User management: ${user_management}`,
        admin_users + viewer_users,
        priceOf(levels, user_management),
      );
  }
  return [...sums].map(([sku, { product, userDays, sum }]) => ({
    type: 'organization_feature',
    sku,
    product,
    quantity: `${quantityText(userDays, days)} users`,
    amount: dividedBy(sum * minorOf(facts.currency), days * one),
  }));
}

/** Percent of everything else; where the level or its price changed within the month, that of the average day. */
function supportLines(facts: MonthFacts, everythingElse: bigint): Line[] {
  const percents = [...facts.users].map(([day, { support_level }]) => decimal(priceOf(pricesOn(facts, day).support_levels, support_level)));
  if (percents.length === 0) return [];
  const level = [...facts.users.values()].findLast(({ support_level }) => support_level !== '')?.support_level ?? '';
  const percent = percents.reduce((sum, each) => sum + each, 0n);
  const amount = dividedBy(everythingElse * percent, BigInt(percents.length) * hundred);
  return [{ type: 'organization_feature', sku: `support_level:${level}`, product: `Support: ${level}`, quantity: '', amount }];
}

export interface Totals {
  baseprice: bigint;
  discount: bigint;
  voucher: bigint;
  vat: bigint;
  total: bigint;
}

/** Discounts come first, then vouchers; what is left is taxed. Neither takes off more than there is. */
export function totalsOf(lines: readonly Line[], off: { discount: bigint; voucher: bigint }, vatPercent: string, more = 0n): Totals {
  const baseprice = sumOf(lines) + more;
  const discount = least(baseprice, off.discount);
  const voucher = least(baseprice - discount, off.voucher);
  const net = baseprice - discount - voucher;
  const vat = dividedBy(net * decimal(vatPercent), hundred);
  return { baseprice, discount, voucher, vat, total: net + vat };
}
