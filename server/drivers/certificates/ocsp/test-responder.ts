/** OpenSSL's own responder, which answers for certificates of tests: as a server, or with one answer that others can change. */
import { execFileSync, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../test-ports.ts';
import type { TestCertificate } from '../x509/test-certificates.ts';

export interface TestResponder {
  url: string;
  /** What it says of certificates from now on; it does not know any others. */
  says(statuses: readonly TestStatus[]): void;
  /** One answer, without asking over the network, for as many minutes. Undefined: it does not say for how long. */
  answer(certificate: string, minutes?: number): Buffer;
  start(minutes: number): void;
  stop(): Promise<void>;
  close(): Promise<void>;
}

interface TestStatus {
  certificate: string;
  /** A reason as OpenSSL names it, such as `keyCompromise`. */
  revoked?: string;
}

export async function openTestResponder(issuer: TestCertificate, signer: TestCertificate = issuer): Promise<TestResponder> {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-responder-'));
  const port = await freePort();
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, `${name}.new`), text);
    renameSync(join(folder, `${name}.new`), join(folder, name));
  };
  file('issuer.pem', issuer.pem);
  file('signer.pem', signer.pem);
  file('signer.key', signer.keyPem);
  file('index', '');
  const signing = ['ocsp', '-index', 'index', '-CA', 'issuer.pem', '-rsigner', 'signer.pem', '-rkey', 'signer.key', '-rmd', 'sha256'];
  const holding = (minutes: number | undefined) => (minutes === undefined ? [] : ['-nmin', String(minutes)]);
  let running: { stop(): Promise<void> } | undefined;
  const stop = async () => {
    await running?.stop();
    running = undefined;
  };
  return {
    url: `http://127.0.0.1:${port}/status`,
    says: (statuses) => file('index', statuses.map(lineOf).join('')),
    answer: (certificate, minutes) => {
      file('asked.pem', certificate);
      const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: folder, stdio: 'ignore' });
      openssl('ocsp', '-issuer', 'issuer.pem', '-cert', 'asked.pem', '-no_nonce', '-reqout', 'request');
      openssl(...signing, ...holding(minutes), '-reqin', 'request', '-respout', 'response');
      return readFileSync(join(folder, 'response'));
    },
    start: (minutes) => {
      const child = spawn('openssl', [...signing, ...holding(minutes), '-port', String(port)], { cwd: folder, stdio: 'ignore' });
      const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
      running = {
        stop: async () => {
          child.kill('SIGKILL');
          await ended;
        },
      };
    },
    stop,
    close: async () => {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A line of OpenSSL's list of certificates: state, end, revocation, number, file, subject. */
function lineOf({ certificate, revoked }: TestStatus): string {
  const { serialNumber } = new X509Certificate(certificate);
  return [revoked ? 'R' : 'V', '491231235959Z', revoked ? `261101120000Z,${revoked}` : '', serialNumber, 'unknown', '/CN=x\n'].join('\t');
}
