/** Thousands of domains, each with a certificate and a key of its own. */
import { testCertificate, type TestCertificate } from '../../server/drivers/certificates/x509/test-certificates.ts';

export interface Domain {
  host: string;
  certificate: string;
  key: string;
}

/** Far from the day on which owners are told that it ends. */
const days = { from: -1, to: 300 };
const atOnce = 200;

export interface Domains {
  /** PEM of who signed all of them. */
  authority: string;
  make(host: string): Promise<Domain>;
  /** `site-0.<zone>`, `site-1.<zone>`, and so on. */
  makeMany(count: number, zone: string): Promise<Domain[]>;
}

export async function openDomains(): Promise<Domains> {
  const by: TestCertificate = await testCertificate('Bench', { isAuthority: true, days });
  const make = async (host: string): Promise<Domain> => {
    const { pem, keyPem } = await testCertificate(host, { by, names: [host], days });
    return { host, certificate: pem, key: keyPem };
  };
  return {
    authority: by.pem,
    make,
    async makeMany(count, zone) {
      const made: Domain[] = [];
      while (made.length < count) {
        const hosts = Array.from({ length: Math.min(atOnce, count - made.length) }, (_, nth) => `site-${made.length + nth}.${zone}`);
        made.push(...(await Promise.all(hosts.map(make))));
      }
      return made;
    },
  };
}
