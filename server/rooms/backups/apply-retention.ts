/**
 * Lets go of what no policy keeps any more, and tells of the others until when they stay. What is decided follows from the backups that there are and from the
 * policy, not from the time: environments in which neither has changed are not looked at, however many backups they have.
 */
import type { Db } from '../../kernel/sql.ts';
import { retentionFor } from '../projects/public.ts';
import {
  changedEnvironments,
  keptBackups,
  letGo,
  noteApplied,
  tellExpiry,
  type ChangedEnvironment,
  type KeptRow,
} from './retention-queries.ts';
import { retain } from './retention.ts';
import { calendarOf } from './schedule.ts';

/** Each environment has some 50 backups at most. */
const environmentsAtOnceMax = 200;

export async function applyRetention(db: Db): Promise<void> {
  for (let last: ChangedEnvironment | undefined; ;) {
    const changed: ChangedEnvironment[] = await changedEnvironments(db, last, environmentsAtOnceMax);
    await applyTo(db, changed);
    last = changed.at(-1);
    if (changed.length < environmentsAtOnceMax) return;
  }
}

const keyOf = ({ project_id, environment_id }: { project_id: string; environment_id: string }) => `${project_id} ${environment_id}`;

/** Environments that this changes are looked at once more in the next round, and so are backups that could not go yet; then nothing is left to change. */
async function applyTo(db: Db, environments: readonly ChangedEnvironment[]) {
  if (environments.length === 0) return;
  const kept = Map.groupBy(await keptBackups(db, environments), keyOf);
  const decided = environments.map((environment) => ({ environment, ...decide(environment, kept.get(keyOf(environment)) ?? []) }));
  await letGo(
    db,
    decided.flatMap(({ remove }) => remove),
  );
  await tellExpiry(
    db,
    decided.flatMap(({ told }) => told),
  );
  await noteApplied(
    db,
    decided.filter(({ remove, told }) => remove.length + told.length === 0).map(({ environment }) => environment),
  );
}

function decide({ project_id, environment_id, type, timezone, data_retention }: ChangedEnvironment, rows: readonly KeptRow[]) {
  const backups = rows.map(({ id, automated, at }) => ({ id, automated, at: Date.parse(at) }));
  const { remove, expiresAt } = retain(retentionFor(data_retention, type), calendarOf(timezone, project_id, environment_id), backups);
  return { remove, told: rows.flatMap((row) => changedExpiry(row, expiresAt.get(row.id))) };
}

function changedExpiry({ id, expires_at }: KeptRow, at: number | undefined): { id: string; expires_at: string | null }[] {
  if (at === (expires_at === null ? undefined : Date.parse(expires_at))) return [];
  return [{ id, expires_at: at === undefined ? null : new Date(at).toISOString() }];
}
