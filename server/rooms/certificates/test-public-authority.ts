/** A platform whose certificates come from an authority that really looks at its edge for proofs: Pebble, at the ports of a test. */
import { tmpdir } from 'node:os';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { startRunningEdge } from '../../../edge/testing/running-edge.ts';
import { openTestKnot } from '../../drivers/certificates/test-knot.ts';
import { openTestPebble } from '../../drivers/certificates/test-pebble.ts';
import { freePort } from '../../drivers/certificates/test-ports.ts';
import { rooms } from '../../rooms.ts';
import { openMemoryMachine } from '../../testing/memory-machine.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { tellWhenOpen } from './reconcilers.ts';

const { signal } = new AbortController();

/** With `http` shut, the authority finds nobody at its port for HTTP, as behind a firewall. */
export async function openPublicAuthority({ http = 'open' }: { http?: 'open' | 'shut' } = {}) {
  const trusted = getCACertificates('default');
  const [port, securePort, seenPort] = [await freePort(), await freePort(), await freePort()];
  const knot = await openTestKnot();
  const ports = { httpPort: http === 'open' ? port : seenPort, tlsPort: securePort };
  const pebble = await openTestPebble({ dnsServer: knot.server, env: { PEBBLE_AUTHZREUSE: '0' }, ports });
  setDefaultCACertificates([...trusted, ...pebble.authorities]);
  const running = await startRunningEdge({
    listeners: [
      { host: '127.0.0.1', port, scheme: 'http' },
      { host: '127.0.0.1', port: securePort, scheme: 'https' },
    ],
  });
  const home = await openTestPlatform(rooms, () => Promise.resolve({ ...openMemoryMachine(tmpdir()), edge: running.edge }));
  home.platform.config.acme = {
    directoryUrl: pebble.directoryUrl,
    email: 'operator@example.org',
    externalAccount: undefined,
    profile: undefined,
    dns: undefined,
  };
  await tellWhenOpen.listen(home.platform, signal);
  return {
    home,
    running,
    knot,
    pebble,
    securePort,
    /** Whom clients of the certificates trust, as PEM. */
    root: await pebble.rootOf(),
    close: async () => {
      setDefaultCACertificates(trusted);
      await running[Symbol.asyncDispose]();
      await pebble.close();
      await knot.close();
    },
  };
}

export type PublicAuthority = Awaited<ReturnType<typeof openPublicAuthority>>;
