/**
 * A store that was found damaged is repaired: what is stored from then on is whole, and what one place lost comes back from another. Backups that lost something
 * everywhere are not offered any more; those that have it back, because the same data was stored anew, are.
 */
import type { Blobs, BroughtBack, Repaired } from '../../drivers/blobs/blobs.ts';
import type { Db } from '../../kernel/sql.ts';
import { knownBackups, noteReviewed, noteVerdict, verdictOn } from './damage.ts';

interface Kept {
  db: Db;
  blobs: Blobs;
}

type Log = (line: string) => void;

/** The repair may be interrupted at any moment, and called again. */
export async function repairStore({ db, blobs }: Kept, projectId: string, log: Log, signal?: AbortSignal): Promise<void> {
  for (const repaired of await blobs.repair(projectId, signal)) log(`  ${repairedLine(repaired)}`);
  await bringBackKnown({ db, blobs }, projectId, log, signal);
  const known = await knownBackups(db, projectId);
  // Everything that is there has just been read, so a survey is enough.
  const survey = await blobs.survey(
    projectId,
    known.map(({ stored }) => stored),
    signal,
  );
  for (const { id, environment_id } of known) {
    const verdict = verdictOn(survey.get(id) ?? []);
    if (!(await noteVerdict(db, id, verdict))) continue;
    log(
      verdict === 'damaged'
        ? `  W: Backup ${id} of ${environment_id} is damaged; it cannot be restored any more`
        : `  Backup ${id} of ${environment_id} is whole again, and can be restored`,
    );
  }
}

async function bringBackKnown({ db, blobs }: Kept, projectId: string, log: Log, signal: AbortSignal | undefined): Promise<void> {
  const stored = (await knownBackups(db, projectId)).map((known) => known.stored);
  const broughtBack = await blobs.bringBack(projectId, stored, signal);
  for (const one of broughtBack) log(`  ${broughtBackLine(one)}`);
  // A backup that somebody deletes meanwhile may be gone from the place that it was just copied to.
  const wanted = new Set((await knownBackups(db, projectId)).map(({ id }) => id));
  const unwanted = broughtBack.flatMap(({ backups }) => backups).filter((backup) => !wanted.has(backup));
  if (unwanted.length > 0) await blobs.forget(projectId, unwanted, signal);
}

export const broughtBackLine = ({ place, backups }: BroughtBack): string =>
  `Copied to ${place} from another place, and read back: ${backups.length === 1 ? 'backup' : 'backups'} ${backups.join(', ')}`;

const filesNamedMax = 5;

export function repairedLine({ place, damaged, piecesKept }: Repaired): string {
  if (damaged.length === 0) return `Nothing is damaged at ${place}`;
  const kept = piecesKept === 0 ? '' : `, and ${piecesKept} pieces of data that were sound in them are kept`;
  const more = damaged.length > filesNamedMax ? ` and ${damaged.length - filesNamedMax} more` : '';
  return `Damaged or missing at ${place}, and out of use now: ${damaged.slice(0, filesNamedMax).join(', ')}${more}${kept}`;
}

/** Looks at damaged backups of which everything is there again: once they are read back, they can be restored. */
export async function reviewDamaged({ db, blobs }: Kept, projectId: string, log: Log, signal?: AbortSignal): Promise<void> {
  const damaged = (await knownBackups(db, projectId)).filter(({ is_damaged }) => is_damaged);
  if (damaged.length === 0) return;
  const survey = await blobs.survey(
    projectId,
    damaged.map(({ stored }) => stored),
    signal,
  );
  for (const { id, environment_id, stored } of damaged) {
    if (verdictOn(survey.get(id) ?? []) !== 'whole') continue;
    if (!(await noteVerdict(db, id, verdictOn(await blobs.inspect(projectId, stored, signal))))) continue;
    log(`Backup ${id} of ${environment_id}, which was damaged, is whole again, and can be restored`);
  }
  await noteReviewed(
    db,
    damaged.map(({ id }) => id),
  );
}
