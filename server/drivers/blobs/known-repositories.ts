/**
 * What was once begun in a place, written down here: where a disk is not mounted, or a bucket was emptied, that is told, and nothing is begun anew as if there had
 * never been anything.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../kernel/problem.ts';
import type { Place } from './places.ts';

const nameCharacters = 16;

export function openKnownRepositories(folder: string) {
  const notesOf = ({ name }: Place) => join(folder, createHash('sha256').update(name).digest('hex').slice(0, nameCharacters));
  const diskNoteOf = (place: Place) => `${notesOf(place)}.disk`;
  const notedDisk = (place: Place) => readFile(diskNoteOf(place), 'utf8').catch(() => undefined);
  const noteDisk = async (place: Place) => {
    const disk = await place.disk();
    if (disk === undefined || disk === (await notedDisk(place))) return;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(diskNoteOf(place), disk);
  };
  return {
    async note(place: Place, repository: string) {
      await noteDisk(place);
      if (existsSync(join(notesOf(place), repository))) return;
      await mkdir(notesOf(place), { recursive: true, mode: 0o700 });
      await writeFile(join(notesOf(place), repository), '');
    },
    forget: (place: Place, repository: string) => rm(join(notesOf(place), repository), { force: true }),
    /** For a repository that is not there: throws where it was stored there before, or where another one that was stored there is missing, too. */
    async refuseLost(place: Place, repository: string, exists: (repository: string) => Promise<boolean>) {
      const known = await readdir(notesOf(place)).catch((): string[] => []);
      const [another] = known;
      if (another === undefined || (!known.includes(repository) && (await exists(another)))) return;
      throw new Problem(
        'unavailable',
        `${place.name} does not have the backups that were stored there; see that the disk is mounted and is the right one. If they are gone for good, ./offshoot backup repair brings back what other places have; if there is no other, remove ${notesOf(place)}.`,
      );
    },
    /** For whoever is about to begin a lost repository anew: where the disk is not mounted, that would be on another disk. */
    async refuseWithoutDisk(place: Place) {
      const [noted, disk] = [await notedDisk(place), await place.disk()];
      if (noted === undefined || noted === disk) return;
      throw new Problem(
        'unavailable',
        `${place.name} was on a disk that is mounted at ${noted}, and is not now; mount one there, or remove ${diskNoteOf(place)}.`,
      );
    },
  };
}
