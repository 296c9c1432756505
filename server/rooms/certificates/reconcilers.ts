/** Every host that is served has its certificate, and the edge knows each. */
import type { Listener } from '../../kernel/listener.ts';
import { nudge, type Reconciler } from '../../kernel/reconciler.ts';
import { stateOf } from '../../kernel/state-of.ts';
import type { Platform } from '../../platform.ts';
import { chooseCertificates } from './choose-certificates.ts';
import { keepPlatformCertificate, platformCertificateId } from './platform-certificate.ts';
import { claimedHosts, knownCertificates, setServes } from './queries.ts';
import { tellEdge } from './tell-edge.ts';

/** Decides what is presented for each host, and has the installation's own certificate signed. */
export const keepCertificates: Reconciler = {
  name: 'keep certificates',
  everySeconds: 60,
  run: async (platform) => {
    const isRenewed = await keepPlatformCertificate(platform, await knownCertificates(platform.db));
    const areChosen = await settleChoices(platform);
    if (isRenewed || areChosen) await nudge(platform.db, tellCertificates);
  },
};

async function settleChoices({ db }: Platform): Promise<boolean> {
  const [hosts, known] = [await claimedHosts(db), await knownCertificates(db)];
  const chosen = chooseCertificates(hosts, known, new Date());
  const changed = known.filter(({ id, serves }) => id !== platformCertificateId && serves.join() !== (chosen.get(id) ?? []).join());
  for (const { id } of changed) await setServes(db, id, chosen.get(id) ?? []);
  return changed.length > 0;
}

const isOpenOn = stateOf<Platform, { isOpen: boolean }>(() => ({ isOpen: false }));

/** Tells the edge what it does not have: after a change, and after the edge was started anew. An edge that does not end TLS is not opened for it. */
export const tellCertificates: Reconciler = {
  name: 'tell the edge of certificates',
  everySeconds: 15,
  usesMachine: true,
  run: async (platform, signal) => {
    if (platform.config.tls || isOpenOn(platform).isOpen) await tellEdge(platform, await platform.edge(), signal);
  },
};

export const tellWhenOpen: Listener = {
  name: 'tell the edge of certificates',
  listen: async (platform) => {
    isOpenOn(platform).isOpen = true;
    await nudge(platform.db, tellCertificates);
  },
};
