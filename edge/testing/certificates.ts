/** Certificates for tests, signed by an authority that only they know. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TestCertificate {
  certificate: string;
  key: string;
}

export interface TestAuthority {
  /** PEM of its own. */
  certificate: string;
  issue(names: readonly string[], some?: { commonName?: string; extensions?: readonly string[]; kind?: KeyKind }): TestCertificate;
}

const openssl = (folder: string, ...words: string[]) =>
  execFileSync('openssl', words, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
type KeyKind = 'ec' | 'rsa';
const newKeys: Record<KeyKind, string[]> = {
  ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
  rsa: ['-newkey', 'rsa:2048', '-nodes'],
};

export function testAuthority(name = 'Test authority'): TestAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-certificates-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  openssl(folder, 'req', '-x509', ...newKeys.ec, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '30', '-subj', `/CN=${name}`);
  let issued = 0;
  return {
    certificate: read('ca.pem'),
    issue(names, { commonName = names[0] ?? 'nobody', extensions = [], kind = 'ec' } = {}) {
      const file = `issued-${++issued}`;
      const alternatives = names.length === 0 ? [] : [`subjectAltName=${names.map((it) => `DNS:${it}`).join(',')}`];
      writeFileSync(join(folder, `${file}.ext`), [...alternatives, ...extensions, 'basicConstraints=CA:FALSE'].join('\n'));
      openssl(folder, 'req', ...newKeys[kind], '-keyout', `${file}.key`, '-out', `${file}.csr`, '-subj', `/CN=${commonName}`);
      const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '30', '-extfile', `${file}.ext`];
      openssl(folder, 'x509', '-req', '-in', `${file}.csr`, ...signing, '-out', `${file}.pem`);
      return { certificate: read(`${file}.pem`), key: read(`${file}.key`) };
    },
  };
}
