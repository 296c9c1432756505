/** What a scanner finds that tries everything a client can ask for over TLS, with certificates of both kinds of keys. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { testAuthority } from '../testing/certificates.ts';
import { openSecureTestEdge } from '../testing/secure-edge.ts';

const authority = testAuthority();
const bitsMin = 128;

type Found = Record<string, string>;

/** The elements of one name, each as its attributes. */
const elements = (xml: string, name: string): Found[] =>
  [...xml.matchAll(new RegExp(`<${name} ([^>]*?)/?>`, 'g'))].map(([, attributes = '']) =>
    Object.fromEntries([...attributes.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value])),
  );

const versionOf = ({ type, version }: Found) => `${type} ${version}`;
const goodVersions = new Set(['tls 1.2', 'tls 1.3']);
const goodStrengths = new Set(['acceptable', 'strong']);
/** Forward secrecy and authenticated encryption; those of TLS 1.3 have both. */
const goodCipher = /^TLS_(?:AES|CHACHA20)|^ECDHE-(?:RSA|ECDSA)-(?:AES\d+-GCM|CHACHA20-POLY1305)/;

const isWeakCipher = ({ cipher = '', strength = '', bits }: Found) =>
  !goodStrengths.has(strength) || !goodCipher.test(cipher) || Number(bits) < bitsMin;

/** Everything that somebody should mend, in the words of the scanner. */
const weaknesses = (xml: string): string[] => [
  ...elements(xml, 'protocol')
    .filter((each) => each.enabled === '1' && !goodVersions.has(versionOf(each)))
    .map((each) => `speaks ${versionOf(each)}`),
  ...elements(xml, 'cipher')
    .filter(isWeakCipher)
    .map(({ sslversion, cipher, strength }) => `takes ${cipher} in ${sslversion}: ${strength}`),
  ...elements(xml, 'group')
    .filter(({ bits }) => Number(bits) < bitsMin)
    .map(({ sslversion, name, bits }) => `exchanges keys by ${name} in ${sslversion}: ${bits} bits`),
  ...elements(xml, 'renegotiation')
    .filter(({ supported }) => supported !== '0')
    .map(() => 'renegotiates'),
  ...elements(xml, 'compression')
    .filter(({ supported }) => supported !== '0')
    .map(() => 'compresses'),
  ...elements(xml, 'heartbleed')
    .filter(({ vulnerable }) => vulnerable !== '0')
    .map(({ sslversion }) => `tells its memory in ${sslversion}`),
];

async function scan(port: number, host: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sslscan', ['--xml=-', '--no-colour', `--sni-name=${host}`, `127.0.0.1:${port}`]);
  return stdout;
}

test('a scanner finds nothing weak', async () => {
  await using made = await openSecureTestEdge([]);
  const hosts = { 'ec.test': 'EC', 'rsa.test': 'RSA' };
  made.present('ec', ['ec.test'], authority.issue(['ec.test']), true);
  made.present('rsa', ['rsa.test'], authority.issue(['rsa.test'], { kind: 'rsa' }));
  await Promise.all(
    Object.entries(hosts).map(async ([host, kind]) => {
      const xml = await scan(made.securePort, host);
      expect(weaknesses(xml)).toEqual([]);
      // It has seen the edge, rather than nothing at all.
      const spoken = elements(xml, 'protocol').filter(({ enabled }) => enabled === '1');
      expect(spoken.map(versionOf).toSorted()).toEqual([...goodVersions]);
      expect(new Set(elements(xml, 'cipher').map(({ sslversion }) => sslversion))).toEqual(new Set(['TLSv1.3', 'TLSv1.2']));
      expect(elements(xml, 'pk')).toMatchObject([{ type: kind, error: 'false' }]);
      for (const looked of ['renegotiation', 'heartbleed', 'group']) expect(elements(xml, looked)).not.toEqual([]);
    }),
  );
});
