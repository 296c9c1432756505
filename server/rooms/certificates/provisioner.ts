/** Where the automatic certificates of a project come from: one provisioner each, as the installation's settings have it until somebody chooses otherwise. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import type { Config } from '../../config.ts';
import { ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { nudge } from '../../kernel/reconciler.ts';
import { nullable } from '../../kernel/schema.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { keepCertificates } from './reconcilers.ts';
import { provisionerPurpose } from './provisioners.ts';
import { refusedFields } from './refusals.ts';

/** A project has one. */
const provisionerId = 'acme';

export interface Provisioner {
  id: string;
  project_id: string;
  organization_id: string;
  directory_url: string;
  email: string;
  eab_kid: string | null;
  /** Nobody is told the key again. */
  eab_hmac_key: null;
}

export async function provisionerOf(db: Db | Tx, { acme }: Pick<Config, 'acme'>, projectId: string): Promise<Provisioner | undefined> {
  const { rows } = await sql<Omit<Provisioner, 'id' | 'eab_hmac_key'>>`
    select projects.id as project_id, organization_id, coalesce(directory_url, ${acme?.directoryUrl ?? ''}) as directory_url,
      coalesce(certificate_provisioners.email, ${acme?.email ?? ''}) as email, eab_kid
    from projects left join certificate_provisioners on certificate_provisioners.project_id = projects.id
    where projects.id = ${projectId} and projects.status <> 'deleted'`.execute(db);
  return rows[0] && { ...rows[0], id: provisionerId, eab_hmac_key: null };
}

export const ProvisionerEntity = entity({
  name: 'certificate provisioner',
  path: '/projects/{projectId}/provisioners/{certificateProvisionerDocumentId}',
  params: { projectId: ProjectId, certificateProvisionerDocumentId: Type.String({ pattern: `^${provisionerId}$` }) },
  schema: Type.Object({
    id: Type.String(),
    directory_url: Type.String({ description: 'The directory of the authority (ACME); empty where this installation has none.' }),
    email: Type.String({ description: 'Where the authority writes to; may be empty.' }),
    eab_kid: nullable(Type.String({ description: 'The id of the key by which the authority knows its customers.' })),
    eab_hmac_key: nullable(Type.String({ description: 'Never told.' })),
  }),
  address: ({ project_id, id }: Provisioner) => ({ projectId: project_id, certificateProvisionerDocumentId: id }),
  scope: ({ project_id, organization_id }) => ({ project: project_id, organization: organization_id }),
  view: 'certificate:view',
  load: ({ projectId }, { db, config }) => provisionerOf(db, config, projectId),
});

export interface ProvisionerChange {
  directory_url?: string;
  email?: string;
  eab_kid?: string | null;
  eab_hmac_key?: string | null;
}

/** With an empty directory the project follows the installation's settings again. */
export const changeProvisioner = (platform: Platform, { project_id }: Provisioner, change: ProvisionerChange): Promise<Provisioner> =>
  platform.db.transaction().execute(async (tx) => {
    const { config, secrets } = platform;
    await nudge(tx, keepCertificates);
    const now = await provisionerOf(tx, config, project_id);
    if (!now) throw new Problem('not-found', 'No such certificate provisioner.');
    const next = { ...now, ...change };
    const isOwn =
      next.directory_url !== '' && (next.directory_url !== config.acme?.directoryUrl || next.email !== (config.acme.email ?? ''));
    checkDirectory(next.directory_url);
    checkExternalAccount(now, change);
    if (!isOwn && next.eab_kid === null) await tx.deleteFrom('certificate_provisioners').where('project_id', '=', project_id).execute();
    else {
      const key = change.eab_hmac_key ? secrets.seal(provisionerPurpose(project_id), change.eab_hmac_key) : null;
      await sql`
        insert into certificate_provisioners (project_id, directory_url, email, eab_kid, eab_hmac_key_sealed)
        values (${project_id}, ${next.directory_url}, ${next.email}, ${next.eab_kid}, ${key})
        on conflict (project_id) do update set directory_url = excluded.directory_url, email = excluded.email, eab_kid = excluded.eab_kid,
          eab_hmac_key_sealed = case when excluded.eab_kid is null then null else coalesce(excluded.eab_hmac_key_sealed, certificate_provisioners.eab_hmac_key_sealed) end,
          updated_at = clock_timestamp()`.execute(tx);
    }
    const changed = await provisionerOf(tx, config, project_id);
    if (!changed) throw new Problem('not-found', 'No such certificate provisioner.');
    return changed;
  });

function checkDirectory(url: string): void {
  const { protocol, username, hostname } = URL.parse(url) ?? {};
  if (url === '' || (protocol === 'https:' && username === '' && hostname !== '')) return;
  throw refusedFields({ directory_url: 'is not an address that begins with https://, such as https://acme.example.org/directory' });
}

/** Id and key come together. */
function checkExternalAccount(now: Provisioner, { eab_kid, eab_hmac_key }: ProvisionerChange): void {
  if (eab_hmac_key && !/^[A-Za-z0-9_-]+={0,2}$/.test(eab_hmac_key))
    throw refusedFields({ eab_hmac_key: 'is not in base64url, as authorities give it' });
  if (eab_hmac_key && (eab_kid ?? now.eab_kid) === null)
    throw refusedFields({ eab_kid: 'is missing: the authority gave an id along with the key' });
  if (eab_kid && eab_kid !== now.eab_kid && !eab_hmac_key)
    throw refusedFields({ eab_hmac_key: 'is missing: the authority gave a key along with the id' });
}
