/** What restic tells programs, as far as we listen. */
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Place } from './places.ts';
import type { Repositories } from './repositories.ts';

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

const message = Type.Object({
  message_type: Type.String(),
  percent_done: Type.Optional(Type.Number()),
  data_size_in_repo: Type.Optional(Type.Number()),
  metadata_size_in_repo: Type.Optional(Type.Number()),
  total_bytes_processed: Type.Optional(Type.Number()),
  snapshot_id: Type.Optional(Type.String()),
});

/** Listens to `restic backup --json --verbose=2`, which says of each file what it added. */
export function readStoring(progress: (share: number) => void) {
  let [shortId, bytes, bytesAdded] = ['', 0, 0];
  return {
    line: (line: string) => {
      const heard: unknown = line.startsWith('{') ? JSON.parse(line) : undefined;
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
