/** For the operator: how much of the machine is given out, to how many environments, and whose a volume is. Only looks. */
import { sql } from 'kysely';
import type { Db } from '../../../kernel/sql.ts';
import { buildVolumeKind } from '../../builds/public.ts';
import { unneededSlugVolumes } from '../../builds/work.ts';
import type { Amounts } from './amounts.ts';
import { amountsOfOthers } from './capacity.ts';
import { notedAmounts } from './machine-amounts.ts';
import { backupOfSnapshot, isPassing, stackOfVolume } from '../stack/names.ts';
import { knownStacks } from '../running/kept-stacks.ts';
import { environmentLife } from '../../environments/life-cycle.ts';

export interface MachineUse {
  given: Amounts;
  /** Undefined: nobody has looked yet. */
  there: Amounts | undefined;
  environments: Record<'running' | 'paused' | 'sleeping', number>;
}

export async function machineUse(db: Db): Promise<MachineUse> {
  const { rows } = await sql<MachineUse['environments']>`
    select count(*) filter (where ${environmentLife.sqlPossible('status', 'serve')} and sleeping_since is null)::int as running,
      count(*) filter (where ${environmentLife.sqlPossible('status', 'resume')})::int as paused, count(*) filter (where sleeping_since is not null)::int as sleeping
    from environments where stack_id is not null`.execute(db);
  const [environments = { running: 0, paused: 0, sleeping: 0 }] = rows;
  return { given: await amountsOfOthers(db, '', ''), there: await notedAmounts(db), environments };
}

export type VolumeKind = 'data' | 'backups' | 'slugs' | 'caches' | 'others';

export interface VolumeOwner {
  kind: VolumeKind;
  /** Whether nobody would miss the volume. */
  isUnneeded: boolean;
}

/** Returns a function that tells, by the name of a volume, what it is and whose. */
export async function volumeOwners(db: Db): Promise<(name: string) => VolumeOwner> {
  const [stacks, slugs] = [await knownStacks(db), await unneededSlugVolumes(db)];
  return (name) => {
    const stack = stackOfVolume(name);
    if (stack !== undefined)
      return { kind: 'data', isUnneeded: !stacks.get(stack)?.is_claimed || (isPassing(name) && !stacks.get(stack)?.is_busy) };
    if (backupOfSnapshot(name) !== undefined) return { kind: 'backups', isUnneeded: false };
    const built = buildVolumeKind(name);
    if (built === undefined) return { kind: 'others', isUnneeded: false };
    return { kind: built, isUnneeded: slugs.has(name) };
  };
}

/** The clusters whose folders of logs belong to an environment. */
export const knownClusters = async (db: Db): Promise<Set<string>> => {
  const { rows } = await sql<{ cluster: string }>`select project_id || '-' || machine_name as cluster from environments`.execute(db);
  return new Set(rows.map(({ cluster }) => cluster));
};
