/**
 * Certificate authorities that this machine trusts beyond the public ones: that of a proxy through which all of its connections pass, or of a company. The
 * platform trusts them too, and so do builds and apps (images/build-authorities.ts), which then reach what the machine reaches.
 */
import { globSync, readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

/** Where administrators put such certificates: on Debian and Ubuntu, and on Fedora and its relatives. */
const usualFiles = ['/usr/local/share/ca-certificates/**/*.crt', '/etc/pki/ca-trust/source/anchors/**/*'];

/** The authorities in the file or, without one, those that the machine trusts; each as PEM. */
export function trustedAuthorities(file: string | undefined): string[] {
  const files = file === undefined ? usualFiles.flatMap((pattern) => globSync(pattern).toSorted()) : [file];
  return [...new Set(files.flatMap((path) => certificatesIn(readFileSync(path, 'latin1'))))];
}

/** Has this process itself trust them, in all that it asks other servers. */
export function trustAuthorities(file: string | undefined): void {
  const authorities = trustedAuthorities(file);
  if (authorities.length > 0) setDefaultCACertificates([...getCACertificates('default'), ...authorities]);
}

const certificatesIn = (text: string) =>
  (text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []).map((pem) => `${pem.replaceAll('\r', '')}\n`);

const bundle = '/etc/ssl/certs/ca-certificates.crt';

/** For programs that bring public authorities of their own and do not look at the system's: Node, and Python's requests, pip, httpx and uv. */
export const authorityVariables = (authorities: readonly string[]): Record<string, string> =>
  authorities.length === 0 ? {} : { NODE_EXTRA_CA_CERTS: bundle, SSL_CERT_FILE: bundle, REQUESTS_CA_BUNDLE: bundle, PIP_CERT: bundle };
