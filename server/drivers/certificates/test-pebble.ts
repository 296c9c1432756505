/**
 * Real authorities that speak ACME, for tests, with the servers at which they look for proofs. Names of the test zone lead to this machine; nonces are refused
 * now and then, as pebble does it, and proofs are looked at without a pause.
 */
import { createServer, type RequestListener } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createSecureContext, createServer as createTlsServer } from 'node:tls';
import { openSecrets, randomSecret } from '../../kernel/secrets.ts';
import { openHttps } from './acme/https.ts';
import type { Proof, Solver } from './acme/proofs.ts';
import { makeAuthority, openAuthority } from './authority/authority.ts';
import type { Issuance } from './certificates.ts';
import { freePort } from './test-ports.ts';
import { runProgram } from './test-programs.ts';

export const externalAccount = { keyId: 'customer-1', hmacKey: randomSecret() };
export const blockedName = 'blocked.offshoot.test';

export interface PebbleOptions {
  /** The DNS server that Pebble asks. */
  dnsServer: string;
  takesOnlyCustomers?: boolean;
  env?: Record<string, string>;
  /** Where Pebble looks for proofs, in the place of the servers that come with it. */
  ports?: { httpPort: number; tlsPort: number };
}

export async function openTestPebble({ dnsServer, takesOnlyCustomers = false, env = {}, ports }: PebbleOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-test-'));
  const { root, keyed } = await serverCertificate();
  writeFileSync(join(folder, 'certificate.pem'), keyed.certificate);
  writeFileSync(join(folder, 'key.pem'), keyed.key);
  const proofs = await openProofServers();
  const [port, managementPort] = [await freePort(), await freePort()];
  const settings = {
    pebble: { ...settingsOf(folder, takesOnlyCustomers), ...addressesOf(port, managementPort), ...(ports ?? proofs.ports) },
  };
  writeFileSync(join(folder, 'settings.json'), JSON.stringify(settings));
  const program = await runProgram('pebble', ['-strict', '-config', join(folder, 'settings.json'), '-dnsserver', dnsServer], {
    PEBBLE_VA_NOSLEEP: '1',
    PEBBLE_WFE_NONCEREJECT: '20',
    ...env,
  });
  const send = openHttps({ authorities: [root], userAgent: 'test' });
  const directoryUrl = `https://127.0.0.1:${port}/dir`;
  while ((await send('GET', directoryUrl).catch(() => undefined)) === undefined) {
    if (program.process.exitCode !== null) throw new Error(program.said());
    await pause(50);
  }
  return {
    directoryUrl,
    authorities: [root],
    solvers: proofs.solvers,
    served: proofs.served,
    said: program.said,
    /** Has Pebble say that it wants the certificate, as PEM, replaced within these times. */
    wantReplaced: async (certificate: string, from: Date, to: Date) => {
      const ARIResponse = JSON.stringify({ suggestedWindow: { start: from.toISOString(), end: to.toISOString() } });
      const body = JSON.stringify({ Certificate: certificate, ARIResponse });
      const { status } = await send('POST', `https://127.0.0.1:${managementPort}/set-renewal-info/`, body);
      if (status !== 200) throw new Error(`Pebble does not know the certificate: ${status}`);
    },
    /** The root, as PEM, of one of the chains that Pebble offers. */
    rootOf: async (chain = 0) => (await send('GET', `https://127.0.0.1:${managementPort}/roots/${chain}`)).body,
    close: async () => {
      await program.stop();
      await proofs.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const settingsOf = (folder: string, takesOnlyCustomers: boolean) => ({
  certificate: join(folder, 'certificate.pem'),
  privateKey: join(folder, 'key.pem'),
  externalAccountBindingRequired: takesOnlyCustomers,
  externalAccountMACKeys: { [externalAccount.keyId]: externalAccount.hmacKey },
  caaIdentities: ['pebble.test'],
  domainBlocklist: [blockedName],
  keyAlgorithm: 'ecdsa',
  retryAfter: { authz: 0, order: 0 },
  profiles: {
    default: { description: 'Ninety days', validityPeriod: 7_776_000 },
    short: { description: 'Six days', validityPeriod: 518_400 },
  },
});

const addressesOf = (port: number, managementPort: number) => ({
  listenAddress: `127.0.0.1:${port}`,
  managementListenAddress: `127.0.0.1:${managementPort}`,
});

export type TestPebble = Awaited<ReturnType<typeof openTestPebble>>;

/** A certificate for servers of this machine, such as Pebble's own, from an authority of ours. */
export async function serverCertificate() {
  const secrets = openSecrets([Buffer.alloc(32, 1)]);
  const stored = await makeAuthority({ title: 'Test', names: ['localhost'], addresses: ['127.0.0.1'] }, secrets);
  const issuer = openAuthority(stored, secrets);
  const issuance: Issuance = await issuer.advance(await issuer.begin({ names: ['localhost', '127.0.0.1'] }));
  if (issuance.status !== 'issued') throw new Error('No certificate for the test server');
  return { root: stored.certificate, keyed: issuance.issued };
}

/** Servers for the names of the tests, which show the proofs for HTTP and TLS that were put up, and nothing else. */
async function openProofServers() {
  const served = new Map<string, Proof>();
  const keyOf = (proof: Proof) =>
    proof.kind === 'http-01' ? `${proof.host}${proof.path}` : proof.kind === 'tls-alpn-01' ? proof.serverName : '';
  const answer: RequestListener = (request, response) => {
    const proof = served.get(`${request.headers.host?.replace(/:\d+$/, '')}${request.url}`);
    response.writeHead(proof ? 200 : 404).end(proof?.kind === 'http-01' ? proof.body : 'somebody else');
  };
  const http = createServer(answer);
  const tls = createTlsServer({
    ALPNProtocols: ['acme-tls/1'],
    SNICallback: (name, found) => {
      const proof = served.get(name);
      if (proof?.kind !== 'tls-alpn-01') return found(new Error('nobody'));
      found(null, createSecureContext({ cert: proof.keyed.certificate, key: proof.keyed.key }));
    },
  });
  tls.on('tlsClientError', () => {});
  const solver = (kind: 'http-01' | 'tls-alpn-01'): Solver => ({
    kind,
    canServe: ({ name }) => !name.startsWith('*.'),
    serve: async (proof) => void served.set(keyOf(proof), proof),
    withdraw: async (proof) => void served.delete(keyOf(proof)),
  });
  return {
    served,
    solvers: { http: solver('http-01'), tls: solver('tls-alpn-01') },
    ports: { httpPort: await listening(http), tlsPort: await listening(tls) },
    close: async () => {
      for (const server of [http, tls]) await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
