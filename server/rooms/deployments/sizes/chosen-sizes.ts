/**
 * Sizes that people chose and that no deployment has made so yet. Like variables, they are written down with the request and stay until a deployment
 * has them: one that fails leaves them for the next.
 */
import { sql } from 'kysely';
import type { Db, Tx } from '../../../kernel/sql.ts';
import type { Size, SizeGroup, Stack } from '../stack/stack.ts';

/** The chosen sizes, by group and name. */
export type ChosenSizes = Partial<Record<SizeGroup, Record<string, Partial<Size>>>>;

export const sizeGroups = ['services', 'webapps', 'workers', 'tasks'] as const satisfies readonly SizeGroup[];

export interface Chosen {
  sizes: ChosenSizes;
  /** Whether new containers wait for somebody to choose their sizes. */
  byHand: boolean;
}

export async function chosenSizes(db: Db | Tx, projectId: string, environmentId: string): Promise<Chosen> {
  const { rows } = await sql<{ chosen_sizes: ChosenSizes; sizes_by_hand: boolean }>`
    select chosen_sizes, sizes_by_hand from environments where project_id = ${projectId} and id = ${environmentId}`.execute(db);
  return { sizes: rows[0]?.chosen_sizes ?? {}, byHand: rows[0]?.sizes_by_hand ?? false };
}

/** Adds to the sizes that were chosen before. */
export async function chooseSizes(tx: Tx, projectId: string, environmentId: string, change: ChosenSizes): Promise<void> {
  await keep(tx, projectId, environmentId, together(await heldSizes(tx, projectId, environmentId), change));
}

/** Reads the chosen sizes and locks them: until the transaction ends, nobody else chooses sizes, or settles chosen ones. */
async function heldSizes(tx: Tx, projectId: string, environmentId: string): Promise<ChosenSizes> {
  const { rows } = await sql<{ chosen_sizes: ChosenSizes }>`
    select chosen_sizes from environments where project_id = ${projectId} and id = ${environmentId} for update`.execute(tx);
  return rows[0]?.chosen_sizes ?? {};
}

export const together = (before: ChosenSizes, change: ChosenSizes): ChosenSizes =>
  eachSize((group, name) => ({ ...before[group]?.[name], ...change[group]?.[name] }), before, change);

/** Forgets chosen sizes that the deployment now has. Those chosen since it began stay. */
export async function settleSizes(tx: Tx, { project, environment, sizes }: Stack): Promise<void> {
  await keep(tx, project.id, environment.id, remaining(await heldSizes(tx, project.id, environment.id), sizes));
  await noteSizesByHand(tx, project.id, environment.id, false);
}

export const remaining = (chosen: ChosenSizes, deployed: Stack['sizes']): ChosenSizes =>
  eachSize((group, name) => {
    const has = deployed[group][name];
    const { profile_size, instance_count, disk } = chosen[group]?.[name] ?? {};
    return {
      ...(profile_size !== undefined && profile_size !== has?.profile_size && { profile_size }),
      ...(instance_count !== undefined && instance_count !== has?.instance_count && { instance_count }),
      ...(disk !== undefined && disk !== has?.disk && { disk }),
    };
  }, chosen);

function eachSize(sizeOf: (group: SizeGroup, name: string) => Partial<Size>, ...of: readonly ChosenSizes[]): ChosenSizes {
  const groups = sizeGroups.map((group) => {
    const names = [...new Set(of.flatMap((sizes) => Object.keys(sizes[group] ?? {})))];
    const sizes = names.map((name) => [name, sizeOf(group, name)] as const).filter(([, size]) => Object.keys(size).length > 0);
    return [group, Object.fromEntries(sizes)] as const;
  });
  return Object.fromEntries(groups.filter(([, sizes]) => Object.keys(sizes).length > 0));
}

const keep = (tx: Tx, projectId: string, environmentId: string, sizes: ChosenSizes) =>
  sql`update environments set chosen_sizes = ${JSON.stringify(sizes)}::jsonb where project_id = ${projectId} and id = ${environmentId}`.execute(
    tx,
  );

/** Notes whether new containers wait for somebody to choose their sizes, from now on until something is deployed. */
export const noteSizesByHand = (db: Db | Tx, projectId: string, environmentId: string, byHand: boolean) =>
  sql`update environments set sizes_by_hand = ${byHand} where project_id = ${projectId} and id = ${environmentId}`.execute(db);
