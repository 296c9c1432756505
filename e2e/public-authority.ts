/**
 * An authority that speaks ACME, takes only its customers, and looks for proofs at the edge of an installation; and a name server that the installation may change in
 * one of its zones. To the installation they are what a public authority and the DNS are.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fixedZone, openTestKnot, testZone } from '../server/drivers/certificates/test-knot.ts';
import { externalAccount, openTestPebble } from '../server/drivers/certificates/test-pebble.ts';
import { shownFor } from '../server/rooms/certificates/test-client.ts';
import type { Installation, Settings } from './installation.ts';
import { trustAuthority } from './trust.ts';

export type PublicAuthority = Awaited<ReturnType<typeof openPublicAuthority>>;

export async function openPublicAuthority({ edgePort, httpsPort }: Installation) {
  const knot = await openTestKnot();
  const pebble = await openTestPebble({
    dnsServer: knot.server,
    takesOnlyCustomers: true,
    ports: { httpPort: edgePort, tlsPort: httpsPort },
  });
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-e2e-authority-'));
  const [rootFile, serversFile] = [join(folder, 'root.pem'), join(folder, 'servers.pem')];
  const root = await pebble.rootOf();
  await Promise.all([writeFile(rootFile, root), writeFile(serversFile, pebble.authorities.join(''))]);
  trustAuthority(root);
  const domain = `apps.${testZone}`;
  const url = `https://console.${domain}:${httpsPort}`;
  const key = `${knot.key.name}:${encodeURIComponent(knot.key.secret)}`;
  const settings: Settings = {
    OFFSHOOT_DOMAIN: domain,
    OFFSHOOT_REGION: 'offshoot',
    OFFSHOOT_URL: url,
    OFFSHOOT_ACME_DIRECTORY: pebble.directoryUrl,
    OFFSHOOT_ACME_EMAIL: 'operator@example.org',
    OFFSHOOT_ACME_EAB: `${externalAccount.keyId}:${externalAccount.hmacKey}`,
    OFFSHOOT_ACME_DNS: `rfc2136://${key}@${knot.server}/?domains=${testZone}&servers=${knot.server}`,
    // Rather than OFFSHOOT_CA_CERTIFICATES: apps are to trust it too where that names it, so each run would build their images anew.
    NODE_EXTRA_CA_CERTS: serversFile,
  };
  return {
    settings,
    domain,
    /** Where the installation is reached with a certificate of the authority. */
    url,
    rootFile,
    /** Domains of people, in whose DNS the installation changes nothing, lie here; all of them lead to the installation. */
    zoneOfPeople: fixedZone,
    wantReplaced: pebble.wantReplaced,
    said: pebble.said,
    /** What a visitor is shown who trusts this authority alone. */
    shown: (host: string) => shownFor(httpsPort, host, [root]),
    [Symbol.asyncDispose]: async () => {
      await pebble.close();
      await knot.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
