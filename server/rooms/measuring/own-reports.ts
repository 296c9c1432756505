/**
 * Which apps report their transactions themselves, so that what the edge saw of the same requests is not counted as a second transaction. It is known at once
 * where it was noted, soon in other processes, and after a restart; a new branch is taken to do as its parent does until it is old enough to have said so itself.
 * An app that has reported nothing for an hour does not report any more.
 */
import { sql } from 'kysely';
import type { Scope } from '../../drivers/metrics/metrics.ts';
import { stateOf } from '../../kernel/state-of.ts';
import type { Db } from '../../kernel/sql.ts';

export interface OwnReports {
  has(scope: Scope, application: string): boolean;
  note(scope: Scope, application: string): void;
  /** Writes down what was noted, and reads what others have noted. */
  share(): Promise<void>;
}

const countsMilliseconds = 60 * 60 * 1000;
/** How often the same app is written down again. */
const writtenAgainMilliseconds = 10 * 60 * 1000;
const appsMax = 100_000;

export const ownReportsOf = stateOf<Db, OwnReports>((db) => openOwnReports(db));

export function openOwnReports(db: Db, now: () => number = Date.now): OwnReports {
  const seen = new Map<string, Noted>();
  const keyOf = ({ project, environment }: Scope, application: string) => `${project} ${environment} ${application}`;
  const remember = (noted: Noted) => {
    const key = keyOf(noted, noted.application);
    if (seen.has(key) || seen.size < appsMax) seen.set(key, noted);
  };
  return {
    has: (scope, application) => now() - (seen.get(keyOf(scope, application))?.at ?? -Infinity) < countsMilliseconds,
    note({ project, environment }, application) {
      const written = seen.get(keyOf({ project, environment }, application))?.written ?? -Infinity;
      remember({ project, environment, application, at: now(), written });
    },
    async share() {
      for (const noted of seen.values()) {
        if (noted.at - noted.written < writtenAgainMilliseconds) continue;
        await write(db, noted);
        noted.written = noted.at;
      }
      for (const found of await readNoted(db)) {
        const known = seen.get(keyOf(found, found.application));
        if (!known || known.at < found.at) remember(found);
      }
      for (const [key, { at }] of seen) if (now() - at > countsMilliseconds) seen.delete(key);
    },
  };
}

interface Noted extends Scope {
  application: string;
  /** Unix milliseconds: when spans last came, and as of when that is written down. */
  at: number;
  written: number;
}

const write = async (db: Db, { project, environment, application, at }: Noted) => {
  await sql`
    insert into own_reports (project_id, environment_id, application, reported_at)
      select project_id, id, ${application}, to_timestamp(${at / 1000}::float8) from environments
      where project_id = ${project} and machine_name = ${environment}
    on conflict (project_id, environment_id, application) do update set reported_at = greatest(own_reports.reported_at, excluded.reported_at)`.execute(
    db,
  );
};

/** What apps of a branch do is not known before they have run for a while. */
const youthMinutes = 10;

async function readNoted(db: Db): Promise<Noted[]> {
  const { rows } = await sql<{ project: string; environment: string; application: string; at: number }>`
    select environments.project_id as project, machine_name as environment, application, extract(epoch from max(
      case when environments.id = own_reports.environment_id then reported_at
        else least(reported_at, environments.created_at + make_interval(mins => ${youthMinutes}) - make_interval(hours => 1)) end))::float8 * 1000 as at
    from own_reports join environments on environments.project_id = own_reports.project_id and (environments.id = own_reports.environment_id
      or (environments.parent = own_reports.environment_id and environments.created_at > now() - make_interval(mins => ${youthMinutes})))
    where reported_at > now() - make_interval(hours => 1)
    group by 1, 2, 3 limit ${appsMax}`.execute(db);
  return rows.map((row) => ({ ...row, written: row.at }));
}
