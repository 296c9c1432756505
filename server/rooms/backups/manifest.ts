/** What is in the store beside the parts, so that a backup can be understood without the database that it was made with. */
import { sql } from 'kysely';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { EnvironmentId, ProjectId } from '../../ids.ts';
import { Time, Ulid } from '../../kernel/schema.ts';
import type { Db } from '../../kernel/sql.ts';
import { flawOf, oneOf, orNull } from '../../kernel/stored-json.ts';
import { environmentTypes } from '../../permissions.ts';
import { backupSnapshot } from '../deployments/public.ts';
import { BackupPart } from './parts.ts';
import { UnreadableBackup } from './unreadable-backup.ts';

export const manifestPart = {
  name: 'manifest',
  file: 'manifest.json',
  volume: (backup: string) => backupSnapshot(backup, 'manifest'),
};

const manifestVersion = 1;

const Manifest = Type.Object({
  version: Type.Literal(manifestVersion),
  backup: Ulid,
  project: ProjectId,
  environment: EnvironmentId,
  environment_type: oneOf(...environmentTypes),
  commit_id: Type.String(),
  deployment: orNull(Type.String()),
  safe: Type.Boolean(),
  automated: Type.Boolean(),
  created_at: Time,
  /** The stack with its variables and passwords, readable only with the installation's key. */
  stack_sealed: Type.String(),
  parts: Type.Array(BackupPart),
  /** Where a backup came from that was made in another installation, and brought here as a file. */
  origin: Type.Optional(Type.Object({ backup: Type.String(), project: Type.String(), environment: Type.String(), imported_at: Time })),
});
export type Manifest = Static<typeof Manifest>;

const Versioned = Type.Object({ version: Type.Number() });

/** Parses a manifest from the store of a project. It is refused where it is malformed, or that of another backup. */
export function parseManifest(text: string, { project, backup }: Pick<Manifest, 'project' | 'backup'>): Manifest {
  const what = `The manifest of backup ${backup}`;
  const value = parsedJson(what, text);
  if (Value.Check(Versioned, value) && value.version !== manifestVersion)
    throw new UnreadableBackup(what, `it is of version ${value.version}, and this platform knows version ${manifestVersion}`);
  if (!Value.Check(Manifest, value)) throw new UnreadableBackup(what, flawOf(Manifest, value));
  if (value.project !== project || value.backup !== backup)
    throw new UnreadableBackup(what, `it is that of backup ${value.backup} of project ${value.project}`);
  return value;
}

function parsedJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UnreadableBackup(what, 'it is no JSON', cause);
  }
}

export async function manifestOf(db: Db, backup: string, parts: BackupPart[]): Promise<Manifest> {
  const { rows } = await sql<Omit<Manifest, 'version' | 'parts'>>`
    select id as backup, project_id as project, environment_id as environment, environment_type, commit_id, deployment, safe, automated,
      created_at, stack_sealed
    from backups where id = ${backup}`.execute(db);
  const [row] = rows;
  if (!row) throw new Error(`There is no row of backup ${backup}`);
  return { version: manifestVersion, ...row, parts };
}
