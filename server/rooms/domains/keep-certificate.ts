/** Certificates of projects, with their keys sealed. */
import { shortId } from '../../kernel/id.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { GivenCertificate } from './certificate-of-domain.ts';

export const certificatePurpose = (id: string) => `certificate ${id}`;

/** The same certificate once more is kept once. */
export async function keepCertificate(tx: Tx, secrets: Secrets, projectId: string, { keyed, facts }: GivenCertificate): Promise<void> {
  const known = await tx
    .selectFrom('certificates')
    .select('id')
    .where('project_id', '=', projectId)
    .where('certificate', '=', keyed.certificate)
    .executeTakeFirst();
  if (known) return;
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
    })
    .execute();
}
