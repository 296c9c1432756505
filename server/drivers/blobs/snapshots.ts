/** What restic tells programs, as far as we listen. */
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Stored } from './blobs.ts';
import type { Place } from './places.ts';
import type { Repositories } from './repositories.ts';
import { ResticFailure } from './restic.ts';

export interface Snapshot {
  id: string;
  tags: string[];
}

const snapshotList = Type.Array(Type.Object({ id: Type.String(), tags: Type.Optional(Type.Array(Type.String())) }));

/** Oldest first. */
export async function readSnapshots(
  repositories: Repositories,
  place: Place,
  repository: string,
  signal: AbortSignal | undefined,
): Promise<Snapshot[]> {
  const lines: string[] = [];
  await repositories.run({ place, repository, args: ['snapshots', '--json', '--no-lock'], line: (line) => void lines.push(line), signal });
  const list = Value.Parse(snapshotList, JSON.parse(lines.join('\n')));
  return list.map(({ id, tags = [] }) => ({ id, tags }));
}

/** A snapshot that a place got back from another has a new id, and a place that was added later was never told the first one: then the backup's name finds it. */
export const snapshotAmong = (there: readonly Snapshot[], { name }: Place, { backup, places }: Stored): Snapshot | undefined =>
  there.find(({ id }) => id === places[name]) ?? there.findLast(({ tags }) => tags.includes(backup));

export async function snapshotOf(
  repositories: Repositories,
  place: Place,
  repository: string,
  stored: Stored,
  signal: AbortSignal | undefined,
): Promise<string> {
  const known = stored.places[place.name];
  // A place that does not answer counts as having it: whoever asks it for the backup learns more.
  const isThere = (id: string) =>
    place.names(repository, `snapshots/${id}`).then(
      ({ length }) => length > 0,
      () => true,
    );
  if (known !== undefined && (await isThere(known))) return known;
  return idAmong(await readSnapshots(repositories, place, repository, signal), place, stored);
}

export function idAmong(there: readonly Snapshot[], place: Place, stored: Stored): string {
  const found = snapshotAmong(there, place, stored);
  if (!found) throw new ResticFailure('damaged', `no snapshot found with the tag ${stored.backup}`);
  return found.id;
}

const message = Type.Object({
  message_type: Type.String(),
  percent_done: Type.Optional(Type.Number()),
  data_size_in_repo: Type.Optional(Type.Number()),
  metadata_size_in_repo: Type.Optional(Type.Number()),
  total_bytes_processed: Type.Optional(Type.Number()),
  snapshot_id: Type.Optional(Type.String()),
});

/** A line may be cut off where restic was killed. */
function heardIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Listens to `restic backup --json --verbose=2`, which says of each file what it added. */
export function readStoring(progress: (share: number) => void) {
  let [shortId, bytes, bytesAdded] = ['', 0, 0];
  return {
    line: (line: string) => {
      const heard = heardIn(line);
      if (!Value.Check(message, heard)) return;
      bytesAdded += (heard.data_size_in_repo ?? 0) + (heard.metadata_size_in_repo ?? 0);
      if (heard.percent_done !== undefined) progress(Math.min(heard.percent_done, 1));
      if (heard.message_type !== 'summary') return;
      shortId = heard.snapshot_id ?? '';
      bytes = heard.total_bytes_processed ?? 0;
    },
    summary: () => {
      if (!/^[0-9a-f]{8,64}$/.test(shortId)) throw new Error('restic did not say what it stored');
      return { shortId, bytes, bytesAdded };
    },
  };
}
