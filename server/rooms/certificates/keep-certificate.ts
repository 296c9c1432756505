/** Certificates that people give to their projects. */
import type { CertificateFacts, KeyedCertificate } from '../../drivers/certificates/certificates.ts';
import { shortId } from '../../kernel/id.ts';
import { nudge } from '../../kernel/reconciler.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Tx } from '../../kernel/sql.ts';
import { certificatePurpose } from './queries.ts';
import { keepCertificates } from './reconcilers.ts';

export interface GivenCertificate {
  keyed: KeyedCertificate;
  facts: CertificateFacts;
}

/** The same certificate once more is kept once. Answers its id. */
export async function keepCertificate(tx: Tx, secrets: Secrets, projectId: string, { keyed, facts }: GivenCertificate): Promise<string> {
  await nudge(tx, keepCertificates);
  const known = await tx
    .selectFrom('certificates')
    .select('id')
    .where('project_id', '=', projectId)
    .where('certificate', '=', keyed.certificate)
    .executeTakeFirst();
  if (known) return known.id;
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
  return id;
}
