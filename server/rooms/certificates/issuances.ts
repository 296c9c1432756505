/** Certificates that are being had, as they are written down. */
import { sql } from 'kysely';
import type { OngoingIssuance } from '../../drivers/certificates/certificates.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Wanted } from './wanted-certificates.ts';

export interface StoredIssuance {
  certificate_id: string;
  project_id: string | null;
  names: [string, ...string[]];
  issued_by: string;
  sealed: string | null;
  not_before: string;
  refusals: number;
  trouble: string | null;
  is_wanted: boolean;
}

const purposeOf = (certificateId: string) => `issuance ${certificateId}`;

export async function allIssuances(db: Db | Tx): Promise<StoredIssuance[]> {
  const { rows } = await sql<StoredIssuance>`select * from issuances order by certificate_id`.execute(db);
  return rows;
}

const dueMax = 100;

export async function dueIssuances(db: Db): Promise<StoredIssuance[]> {
  const { rows } = await sql<StoredIssuance>`
    select * from issuances where not_before <= clock_timestamp() order by not_before limit ${dueMax}`.execute(db);
  return rows;
}

export const insertIssuance = (db: Db | Tx, certificateId: string, { project_id, names, issued_by }: Wanted) =>
  sql`insert into issuances (certificate_id, project_id, names, issued_by) values (${certificateId}, ${project_id}, ${names}, ${issued_by})
    on conflict (certificate_id) do nothing`.execute(db);

export const setWanted = (db: Db | Tx, certificateIds: readonly string[], isWanted: boolean) =>
  sql`update issuances set is_wanted = ${isWanted}, not_before = clock_timestamp(), updated_at = clock_timestamp()
    where certificate_id = any(${certificateIds}::text[]) and is_wanted <> ${isWanted}`.execute(db);

export const deleteIssuance = (db: Db | Tx, certificateId: string) =>
  db.deleteFrom('issuances').where('certificate_id', '=', certificateId).execute();

/** Undefined where it has to be begun. */
export const ongoingOf = (secrets: Secrets, { certificate_id, sealed }: StoredIssuance): OngoingIssuance | undefined =>
  sealed === null ? undefined : (JSON.parse(secrets.open(purposeOf(certificate_id), sealed)) as OngoingIssuance);

/** What comes next of it. False: nobody wants it any more. */
export async function storeOngoing(db: Db, secrets: Secrets, certificateId: string, issuance: OngoingIssuance): Promise<boolean> {
  const sealed = secrets.seal(purposeOf(certificateId), JSON.stringify(issuance));
  const { notBefore = null, trouble } = issuance;
  const { rows } = await sql`
    update issuances set sealed = ${sealed}, not_before = coalesce(${notBefore}::timestamptz, clock_timestamp()), trouble = coalesce(${trouble?.sentence ?? null}, trouble),
      updated_at = clock_timestamp()
    where certificate_id = ${certificateId} and is_wanted returning certificate_id`.execute(db);
  return rows.length > 0;
}

/** It is begun anew after a pause, which doubles each time; people may have mended what was wrong meanwhile. */
export const storeRefused = (db: Db, certificateId: string, trouble: string, pauseSeconds: number) =>
  sql`update issuances set sealed = null, refusals = refusals + 1, trouble = ${trouble}, updated_at = clock_timestamp(),
      not_before = clock_timestamp() + make_interval(secs => ${pauseSeconds})
    where certificate_id = ${certificateId}`.execute(db);
