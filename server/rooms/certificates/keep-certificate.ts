/** Certificates that people give to their projects, and take away again. */
import { sql } from 'kysely';
import { shortId } from '../../kernel/id.ts';
import { Problem } from '../../kernel/problem.ts';
import { nudge } from '../../kernel/reconciler.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { lockProject } from '../projects/public.ts';
import { certificatesOf, type Certificate } from './certificate.ts';
import { checkedCertificate, type GivenCertificate } from './given-certificate.ts';
import { certificatePurpose } from './queries.ts';
import { keepCertificates } from './reconcilers.ts';

const certificatesMax = 1000;

/** The same certificate once more is kept once. Answers its id. */
export async function keepCertificate(tx: Tx, secrets: Secrets, projectId: string, { keyed, facts }: GivenCertificate): Promise<string> {
  await nudge(tx, keepCertificates);
  const had = await tx.selectFrom('certificates').select(['id', 'certificate']).where('project_id', '=', projectId).execute();
  const known = had.find(({ certificate }) => certificate === keyed.certificate);
  if (known) return known.id;
  if (had.length >= certificatesMax)
    throw new Problem('conflict', `A project has at most ${certificatesMax} certificates; delete one first.`);
  const id = shortId();
  await tx
    .insertInto('certificates')
    .values({
      id,
      project_id: projectId,
      certificate: keyed.certificate,
      chain: [...keyed.chain],
      key_sealed: secrets.seal(certificatePurpose(id), keyed.key),
      names: [...facts.names],
      expires_at: facts.expiresAt,
      must_staple: facts.mustStaple,
    })
    .execute();
  return id;
}

export const addCertificate = ({ db, secrets }: Platform, projectId: string, given: GivenCertificate, isInvalid: boolean) =>
  db.transaction().execute(async (tx) => {
    await lockProject(tx, projectId);
    const id = await keepCertificate(tx, secrets, projectId, given);
    await sql`update certificates set is_invalid = ${isInvalid} where id = ${id} and is_invalid <> ${isInvalid}`.execute(tx);
    return found(await certificatesOf(tx, projectId, id));
  });

export interface CertificateChange {
  chain?: readonly string[];
  is_invalid?: boolean;
}

/** What was left out stays as it is. */
export const changeCertificate = ({ db, secrets }: Platform, { id, project_id }: Certificate, change: CertificateChange) =>
  db.transaction().execute(async (tx) => {
    await lockProject(tx, project_id);
    const { certificate, is_invalid } = found(await certificatesOf(tx, project_id, id));
    const chain = change.chain && chainFor(certificate, await keyOf(tx, secrets, id), change.chain);
    await sql`update certificates set is_invalid = ${change.is_invalid ?? is_invalid}, chain = coalesce(${chain ?? null}::text[], chain),
      version = nextval('certificate_versions'), updated_at = clock_timestamp() where id = ${id}`.execute(tx);
    await nudge(tx, keepCertificates);
    return found(await certificatesOf(tx, project_id, id));
  });

const chainFor = (certificate: string, key: string, chain: readonly string[]) => [
  ...checkedCertificate({ certificate, key, chain }).keyed.chain,
];

async function keyOf(tx: Tx, secrets: Secrets, id: string): Promise<string> {
  const { key_sealed } = await tx.selectFrom('certificates').select('key_sealed').where('id', '=', id).executeTakeFirstOrThrow();
  return secrets.open(certificatePurpose(id), key_sealed);
}

export const removeCertificate = ({ db }: Platform, { id }: Certificate) =>
  db.transaction().execute(async (tx) => {
    await tx.deleteFrom('certificates').where('id', '=', id).execute();
    await nudge(tx, keepCertificates);
  });

/** Somebody was faster. */
function found([certificate]: Certificate[]): Certificate {
  if (!certificate) throw new Problem('not-found', 'No such certificate.');
  return certificate;
}

/** Everything of a project that ends. */
export async function forgetCertificates(tx: Tx, projectId: string): Promise<void> {
  await tx.deleteFrom('certificates').where('project_id', '=', projectId).execute();
  await tx.deleteFrom('issuances').where('project_id', '=', projectId).execute();
  await tx.deleteFrom('certificate_provisioners').where('project_id', '=', projectId).execute();
  await tx.deleteFrom('acme_accounts').where('owner', '=', projectId).execute();
  await nudge(tx, keepCertificates);
}
