/**
 * Certificates of a project's domains are put on its CDN, and put there again when they are renewed, get another chain or are presented for other domains, or when the integration has
 * changed, and a day after the CDN has not taken them. What is to be put is found by comparison, so nothing that changes a certificate has to know of CDNs; it goes as a delivery in the lane of the integration.
 *
 * What was put there stays when the certificate, or the integration, goes: visitors of the CDN would be shown nothing else.
 */
import { sql } from 'kysely';
import { deliveryKind, type DeliveryKind, type Sent } from '../../../kernel/delivery.ts';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { presentedCertificate } from '../../certificates/work.ts';
import { recordDelivery } from '../../deliveries/public.ts';
import { laneOf } from '../activity-hooks/hook-delivery.ts';
import { opened } from '../integration.ts';
import { integrationsOf } from '../queries.ts';
import { FastlyFailed, openFastly, type Fastly } from './fastly.ts';
import { putCertificate } from './put-certificate.ts';

interface Missing {
  integration_id: string;
  project_id: string;
  organization_id: string;
  certificate_id: string;
  hosts: string[];
  mark: string;
}

const missingMax = 200;

export const putCertificatesOnCdns: Reconciler = {
  name: 'put certificates on CDNs',
  everySeconds: 60,
  run: async ({ db, secrets }) => {
    for (const { integration_id, project_id, organization_id, certificate_id, hosts, mark } of await missingAtCdns(db))
      await db.transaction().execute(async (tx) => {
        await sql`insert into cdn_certificates (integration_id, certificate_id, mark) values (${integration_id}, ${certificate_id}, ${mark})
          on conflict (integration_id, certificate_id) do update set mark = excluded.mark, again_at = null`.execute(tx);
        await recordDelivery(tx, secrets, certificateDelivery(), {
          payload: { projectId: project_id, integrationId: integration_id, certificateId: certificate_id },
          orderKey: laneOf(integration_id),
          party: organization_id,
          organizationId: organization_id,
          projectId: project_id,
          integrationId: integration_id,
          about: { certificate: certificate_id, hosts },
        });
      });
  },
};

/** Domains of the project that the certificate is presented for. */
const hostsOf = sql<string[]>`array(
  select domains.name from domains where domains.project_id = certificates.project_id and domains.name = any(certificates.serves) order by domains.name)`;

/** One that this installation has signed itself would be refused by visitors elsewhere. */
const isPublic = sql`(certificates.issued_by is null or certificates.issued_by like 'https://%') and certificates.revoked_at is null
  and certificates.expires_at > now()`;

async function missingAtCdns(db: Db): Promise<Missing[]> {
  const { rows } = await sql<Missing>`
    with wanted as (
      select integrations.id as integration_id, integrations.project_id, projects.organization_id, certificates.id as certificate_id, ${hostsOf} as hosts,
        certificates.certificate, certificates.chain, coalesce(integrations.updated_at, integrations.created_at) as changed_at
      from integrations join projects on projects.id = integrations.project_id and projects.status <> 'deleted'
      join certificates on certificates.project_id = integrations.project_id and ${isPublic}
      where integrations.type = 'cdn.fastly' and integrations.settings -> 'tls_certificates' = 'true'),
    marked as (
      select integration_id, project_id, organization_id, certificate_id, hosts,
        encode(sha256(convert_to(jsonb_build_array(certificate, chain, hosts, changed_at)::text, 'UTF8')), 'hex') as mark
      from wanted where hosts <> '{}')
    select marked.* from marked left join cdn_certificates using (integration_id, certificate_id)
    where cdn_certificates.mark is distinct from marked.mark or cdn_certificates.again_at <= now() order by integration_id, certificate_id limit ${missingMax}`.execute(
    db,
  );
  return rows;
}

interface CertificatePayload {
  projectId: string;
  integrationId: string;
  certificateId: string;
}

/** `api` is another one in tests alone. */
export const certificateDelivery = (api?: string): DeliveryKind<CertificatePayload> =>
  deliveryKind({
    kind: 'fastly certificate',
    send: (platform, payload, { signal }) => send(platform, payload, signal, api),
    onFailed: tryAgainLater,
  });

const againHours = 24;

/** What the CDN refuses may be put right there, of which nobody tells us. */
async function tryAgainLater(tx: Tx, { integrationId, certificateId }: CertificatePayload): Promise<void> {
  await sql`update cdn_certificates set again_at = now() + make_interval(hours => ${againHours})
    where integration_id = ${integrationId} and certificate_id = ${certificateId}`.execute(tx);
}

/** The certificate is read as it is now: of several renewals that waited for a CDN which was away, the last is put there. */
async function send(
  platform: Platform,
  { projectId, integrationId, certificateId }: CertificatePayload,
  signal: AbortSignal,
  api?: string,
): Promise<Sent> {
  const { db, secrets, outbound } = platform;
  const [row] = await integrationsOf(db, projectId, integrationId);
  if (!row) return { outcome: 'refused', trouble: 'The integration is not there any more.' };
  const presented = await presentedCertificate(db, secrets, certificateId);
  const { rows } = await sql<{ hosts: string[] }>`select ${hostsOf} as hosts from certificates where id = ${certificateId}`.execute(db);
  const hosts = rows[0]?.hosts ?? [];
  if (!presented || hosts.length === 0)
    return { outcome: 'refused', trouble: 'The certificate stands for no domain of the project any more.' };
  const fastly = opened(secrets, row).values as unknown as Fastly;
  try {
    const id = await putCertificate(openFastly(outbound, fastly, signal, api), { ...presented, hosts });
    const what = `the certificate ${id}, for ${hosts.join(', ')}`;
    return { outcome: 'delivered', request: { method: 'Put', url: what, bytes: Buffer.byteLength(presented.certificate) } };
  } catch (failure) {
    if (failure instanceof FastlyFailed) return failure.sent;
    throw failure;
  }
}
