/**
 * The way in, before anybody is told where it is: the edge runs, presents the certificate of the platform and leads to the API. What reconcilers keep so from
 * then on is done here once, without waiting for their turns; doing it twice does no harm.
 */
import type { Platform } from '../../platform.ts';
import { keepCertificates, tellCertificates } from '../certificates/work.ts';
import { keepPlatformReached } from './keep-reached.ts';

/** In the process that has the machine. Throws where the edge does not run. */
export async function openEntrance(platform: Platform): Promise<void> {
  const { signal } = new AbortController();
  await Promise.all([platform.edge(), keepCertificates.run(platform, signal)]);
  await Promise.all([tellCertificates, keepPlatformReached].map((reconciler) => reconciler.run(platform, signal)));
}
