/** Numbers of instances that the platform chooses itself (rooms/autoscaling), and what they make of sizes. */
import { sql } from 'kysely';
import type { Db, Tx } from '../../../kernel/sql.ts';
import type { Sizes } from '../stack/stack.ts';

/** How many instances apps and workers have, by name; those that are not named stay as they are. */
export type InstanceCounts = Record<string, number>;

const scaledGroups = ['webapps', 'workers'] as const satisfies readonly (keyof Sizes)[];

/** The apps and workers whose number of instances nobody else chooses. */
export async function autoscaledIn(db: Db | Tx, projectId: string, environmentId: string): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ service: string }>`
    select service from autoscaling_settings
    where project_id = ${projectId} and environment_id = ${environmentId} and is_on`.execute(db);
  return new Set(rows.map(({ service }) => service));
}

export const instanceCountsOf = (sizes: Sizes): InstanceCounts =>
  Object.fromEntries(
    scaledGroups.flatMap((group) => Object.entries(sizes[group]).map(([name, { instance_count }]) => [name, instance_count] as const)),
  );

export function scaledSizes(sizes: Sizes, counts: InstanceCounts): Sizes {
  const scaled = (group: (typeof scaledGroups)[number]) =>
    Object.fromEntries(
      Object.entries(sizes[group]).map(([name, size]) => [
        name,
        { ...size, instance_count: (Object.hasOwn(counts, name) ? counts[name] : undefined) ?? size.instance_count },
      ]),
    );
  return { ...sizes, webapps: scaled('webapps'), workers: scaled('workers') };
}

/** Some apps can get more instances while others lose some. */
export type ScaledDirections = Record<'up' | 'down', boolean>;

export function scaledDirections(before: Sizes | undefined, after: Sizes): ScaledDirections {
  const was = before ? instanceCountsOf(before) : {};
  const changes = Object.entries(instanceCountsOf(after)).map(([name, count]) => count - (was[name] ?? count));
  return { up: changes.some((change) => change > 0), down: changes.some((change) => change < 0) };
}
