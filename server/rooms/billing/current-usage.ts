/** What a project has used in this month so far, by group. */
import { Type } from 'typebox';
import { dayAt, daysAfter, daysBetween } from '../../kernel/days.ts';
import type { Db } from '../../kernel/sql.ts';
import { allocatedNow, usageDays, type AllocatedNow, type Quantity } from '../metering/public.ts';
import { currencyFor, featureNames, features, listOn, priceLists, type Feature, type FeatureName } from '../prices/public.ts';
import { monthAt } from './month.ts';
import { payerNow } from './payer.ts';
import { quantityOf, rounded } from './reckon.ts';

const Usage = Type.Object({
  title: Type.String(),
  type: Type.Boolean({ description: 'Whether it is allocated, rather than adding up.' }),
  current_usage: Type.Number(),
  current_usage_formatted: Type.String(),
  not_charged: Type.Boolean(),
  free_quantity: Type.Number(),
  free_quantity_formatted: Type.String(),
  daily_average: Type.Number(),
  daily_average_formatted: Type.String(),
});

export const CurrentUsage = Type.Partial(Type.Object(Object.fromEntries(featureNames.map((name) => [name, Usage]))));

const daySeconds = 86_400;
const perSecond: Partial<Record<Quantity, (amounts: AllocatedNow) => number>> = {
  cpu_allocated: ({ cpu }) => cpu * 1000,
  memory_allocated: ({ memory }) => memory,
  storage_allocated: ({ disk }) => disk,
};

/** Of what is allocated, what there is now; of what adds up, the sum of the month. */
export async function currentUsage(db: Db, whose: { organization_id: string; project_id: string }, now: number) {
  const { organization_id, project_id } = whose;
  const [month, tomorrow] = [monthAt(now), daysAfter(dayAt(now), 1)];
  const isOurs = (row: { project_id: string }) => row.project_id === project_id;
  const days = (await usageDays(db, organization_id, month, tomorrow)).filter(isOurs);
  const allocated = (await allocatedNow(db, organization_id)).filter(isOurs);
  const lists = await priceLists(db);
  const { content } = listOn(lists, currencyFor(lists, (await payerNow(db, organization_id))?.currency, dayAt(now)), dayAt(now));
  const dayCount = daysBetween(month, tomorrow).length;
  return Object.fromEntries(
    featureNames.map((name) => {
      const feature: Feature = features[name];
      const sum = Number(days.reduce((total, row) => total + quantityOf(feature, row), 0n)) / Number(feature.size);
      const current = feature.isAllocated ? allocatedOf(feature, allocated) : sum;
      const average = feature.isAllocated ? sum / (dayCount * daySeconds) : sum / dayCount;
      return [name, shown(name, current, average, content.usage[name] ?? {})];
    }),
  );
}

const allocatedOf = ({ of, size }: Feature, allocated: readonly AllocatedNow[]): number =>
  allocated
    .filter(({ kind }) => of && (of.kinds as readonly string[]).includes(kind))
    .reduce((sum, amounts) => sum + ((of && perSecond[of.quantity]?.(amounts)) ?? 0), 0) / Number(size);

function shown(name: FeatureName, current: number, average: number, { price = '0', free = '0' }: { price?: string; free?: string }) {
  const { title, unit, isAllocated } = features[name];
  const written = (quantity: number) => `${rounded(quantity)} ${unit}`;
  return {
    title,
    type: isAllocated,
    current_usage: rounded(current),
    current_usage_formatted: written(current),
    not_charged: Number(price) === 0,
    free_quantity: Number(free),
    free_quantity_formatted: written(Number(free)),
    daily_average: rounded(average),
    daily_average_formatted: written(average),
  };
}
