/** What went wrong with a backup's copy, in a sentence that says what to do. */
import { Problem } from '../../kernel/problem.ts';
import { Damage } from './blobs.ts';
import type { Place } from './places.ts';
import { type FailureKind, ResticFailure } from './restic.ts';

type Doing = 'store' | 'verify' | 'restore' | 'forget' | 'list' | 'repair';

const began: Record<Doing, (backup: string, where: string) => string> = {
  store: (backup, where) => `The backup${backup} could not be stored at ${where}`,
  verify: (backup, where) => `The copy of the backup${backup} at ${where} could not be read back`,
  restore: (backup, where) => `The backup${backup} could not be restored from ${where}`,
  forget: (_, where) => `What backups at ${where} no longer need could not be removed`,
  list: (_, where) => `The backups at ${where} could not be listed`,
  repair: (_, where) => `The backups at ${where} could not be repaired`,
};

const ended: Record<FailureKind, string> = {
  'no-program': 'restic is missing on this machine: apt-get install restic',
  'not-open': 'there is no repository there, or it lost the file that describes it',
  'wrong-password':
    'it was locked with a key that this installation does not have; put it back into OFFSHOOT_SECRET_KEY, after the current one',
  locked: 'somebody else is working on it; try again later',
  'no-room': 'there is no space left there; make room, or keep backups elsewhere',
  away: 'the place does not answer; see that it runs, and try again',
  refused: 'the place does not let us in; look at its credentials and permissions',
  damaged: 'it is damaged or parts of it are missing',
  unread: 'some of the files could not be read; look at the kernel log of the machine',
  unwritten: 'it cannot be written there; see that the disk has room and works',
  killed: 'restic was killed; perhaps there was too little memory',
  other: 'restic failed',
};

export function problemOf(error: unknown, doing: Doing, place: Place, backup?: string): unknown {
  if (!(error instanceof ResticFailure)) return error;
  const sentence = `${began[doing](backup === undefined ? '' : ` ${backup}`, place.name)}: ${ended[error.kind]}.`;
  const details = { internal: error.message, cause: error };
  return error.kind === 'damaged' ? new Damage('unavailable', sentence, details) : new Problem('unavailable', sentence, details);
}
