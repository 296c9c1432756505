/** What a backup consists of. */
import { Type, type Static } from 'typebox';

const partCharactersMax = 100;

/** Something that is in the store by its name. */
export const BackupPart = Type.Object({
  /** `data-db-postgresql`: as the volume of a stack is called after the stack's id; `slug-app`, `manifest`. It becomes the name of a folder. */
  name: Type.String({ pattern: `^[A-Za-z0-9][A-Za-z0-9-]{0,${partCharactersMax - 1}}$` }),
  kind: Type.Union([Type.Literal('data'), Type.Literal('storage'), Type.Literal('slug'), Type.Literal('manifest')]),
  /** The service, app or worker that the part belongs to. */
  of: Type.String(),
  /** The type of a service, with its version. */
  type: Type.Union([Type.String(), Type.Null()]),
  /** The limit of the volume. */
  bytes_max: Type.Integer({ minimum: 0 }),
  bytes: Type.Integer({ minimum: 0 }),
});
export type BackupPart = Static<typeof BackupPart>;

const megabyte = 2 ** 20;

/** The sizes of the disks, in MB; slugs are not data, and do not count. */
export function sizesOf(parts: readonly BackupPart[]): { size_of_volumes: number; size_used: number } {
  const kept = parts.filter(({ kind }) => kind === 'data' || kind === 'storage');
  const total = (count: (part: BackupPart) => number) => kept.reduce((sum, part) => sum + count(part), 0);
  return {
    size_of_volumes: Math.ceil(total(({ bytes_max }) => bytes_max) / megabyte),
    size_used: Math.ceil(total(({ bytes }) => bytes) / megabyte),
  };
}
