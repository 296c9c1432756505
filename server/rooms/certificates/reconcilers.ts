/** Every host that is served has its certificate, and the edge knows each. */
import type { Edge } from '../../drivers/edge/edge.ts';
import type { Listener } from '../../kernel/listener.ts';
import { nudge, type Reconciler } from '../../kernel/reconciler.ts';
import { stateOf } from '../../kernel/state-of.ts';
import type { Platform } from '../../platform.ts';
import { askForStatuses } from './ask-statuses.ts';
import { chooseCertificates } from './choose-certificates.ts';
import { forgetOldProofs, showProofs } from './edge-proofs.ts';
import { openIssuers } from './issuers.ts';
import { askForRenewals, obtainDue, planIssuances } from './obtain-certificates.ts';
import { platformNames } from './own-names.ts';
import { keepPlatformCertificate, platformCertificateId } from './platform-certificate.ts';
import { claimedHosts, collectUnused, knownCertificates, setServes } from './queries.ts';
import { tellEdge } from './tell-edge.ts';
import { tellOwners } from './tell-owners.ts';

/** Decides what is presented for each host and what has to be had, and has the installation's own certificate signed. */
export const keepCertificates: Reconciler = {
  name: 'keep certificates',
  everySeconds: 60,
  run: async (platform) => {
    const { db } = platform;
    await keepPlatformCertificate(platform, await knownCertificates(db, platformCertificateId));
    // What is at hand is presented first: visitors wait for that, while what is missing takes its time.
    await settleChoices(platform);
    await nudge(db, tellCertificates);
    if (await planIssuances(platform)) await nudge(db, obtainCertificates);
    await collectUnused(db);
    await nudge(db, askStatuses);
    await tellOwners(platform);
  },
};

async function settleChoices({ db, config }: Platform): Promise<void> {
  const own = platformNames(config).map((host) => ({ host, project_id: null }));
  const known = await knownCertificates(db);
  const chosen = chooseCertificates([...own, ...(await claimedHosts(db))], known, new Date());
  for (const { id, serves } of known) {
    const wanted = chosen.get(id) ?? [];
    if (serves.join() !== wanted.join()) await setServes(db, id, wanted);
  }
}

const isOpenOn = stateOf<Platform, { isOpen: boolean }>(() => ({ isOpen: false }));

/** An edge that does not end TLS is not opened for certificates. */
const edgeInUse = async (platform: Platform): Promise<Edge | undefined> =>
  platform.config.tls || isOpenOn(platform).isOpen ? platform.edge() : undefined;

/** An authority that does not answer must not keep other reconcilers waiting; what is under way goes on with the next look. */
const lookSecondsMax = 60;

/** Has certificates from their authorities, to which the edge shows proofs. */
export const obtainCertificates: Reconciler = {
  name: 'obtain certificates',
  everySeconds: 5,
  usesMachine: true,
  run: async (platform, signal) => {
    const edge = await edgeInUse(platform);
    if (!edge) return;
    const issuers = openIssuers(platform, edge);
    const limit = AbortSignal.timeout(lookSecondsMax * 1000);
    const either = AbortSignal.any([signal, limit]);
    try {
      const isDue = await askForRenewals(platform, issuers, either);
      const hasEnded = await obtainDue(platform, issuers, either);
      if (isDue || hasEnded) await nudge(platform.db, keepCertificates);
    } catch (error) {
      if (!limit.aborted) throw error;
    }
  },
};

/** Asks issuers whether their certificates are still good. */
export const askStatuses: Reconciler = {
  name: 'ask for the status of certificates',
  everySeconds: 30,
  run: async (platform, signal) => {
    const limit = AbortSignal.timeout(lookSecondsMax * 1000);
    try {
      if (await askForStatuses(platform, AbortSignal.any([signal, limit]))) await nudge(platform.db, keepCertificates);
    } catch (error) {
      if (!limit.aborted) throw error;
    }
  },
};

/** Tells the edge what it does not have: after a change, and after the edge was started anew. */
export const tellCertificates: Reconciler = {
  name: 'tell the edge of certificates',
  everySeconds: 15,
  usesMachine: true,
  run: async (platform, signal) => {
    const edge = await edgeInUse(platform);
    if (!edge) return;
    const { db, secrets } = platform;
    await tellEdge(platform, edge, signal);
    if (await forgetOldProofs(db)) await showProofs({ db, secrets, edge });
  },
};

export const tellWhenOpen: Listener = {
  name: 'tell the edge of certificates',
  listen: async (platform) => {
    isOpenOn(platform).isOpen = true;
    await nudge(platform.db, tellCertificates);
  },
};
