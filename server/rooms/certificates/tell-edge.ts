/** What the edge is told of certificates: the rows of the table that are presented for something, and nothing else. */
import type { Edge } from '../../drivers/edge/edge.ts';
import { forEachAtMost } from '../../kernel/limits.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import { platformCertificateId } from './platform-certificate.ts';
import { presentedCertificate, presentedVersions } from './queries.ts';

const atOnceMax = 8;

type Telling = Pick<Platform, 'db' | 'secrets' | 'log'>;

export async function tellEdge(platform: Telling, edge: Edge, signal?: AbortSignal): Promise<void> {
  const listed = await edge.certificates();
  const wanted = await presentedVersions(platform.db);
  const missing = [...wanted].filter(([id, version]) => listed[id] !== version).map(([id]) => id);
  await forEachAtMost(atOnceMax, missing, (id) => tell(platform, edge, id, listed[id] ?? 0), signal);
  if (Object.keys(listed).some((id) => !wanted.has(id))) await edge.keepOnlyCertificates([...wanted.keys()]);
}

/** One that the edge does not take is not in the way of the others. */
async function tell({ db, secrets, log }: Telling, edge: Edge, id: string, has: number): Promise<void> {
  const presented = await presentedCertificate(db, secrets, id);
  if (!presented) return;
  const { version, serves, certificate, chain, key, stapled, stapled_until } = presented;
  try {
    // The edge keeps the higher version; a database that came back from a backup may have a lower one.
    if (has > version) await edge.removeCertificate(id);
    const is_default = id === platformCertificateId;
    const answer = stapled === null || stapled_until === null ? {} : { stapled, stapled_until };
    await edge.putCertificate({ id, version, names: serves, certificate, chain: [...chain], key, is_default, ...answer });
  } catch (error) {
    if (!(error instanceof Problem) || error.kind !== 'invalid-request') throw error;
    log.error({ certificate: id, error }, 'the edge does not take a certificate; its hosts are served with another');
  }
}
