/**
 * Certificate authorities that this machine trusts beyond the public ones: that of a proxy through which all of its connections pass, or of a company. Images
 * are given them as Debian itself would take them in, so that builds and apps reach what the machine reaches.
 */
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { runConfined } from './build-command.ts';
import { type Building, layersBeside, lowerFolders } from './build-debian.ts';
import type { Authorities } from './recipe.ts';

/** Where administrators put them: on Debian and Ubuntu, and on Fedora and those like it. */
const usualPlaces = ['/usr/local/share/ca-certificates/**/*.crt', '/etc/pki/ca-trust/source/anchors/**/*'];

/** Those of the file, or of the machine, each as PEM. */
export function trustedAuthorities(file: string | undefined): string[] {
  const files = file === undefined ? usualPlaces.flatMap((pattern) => globSync(pattern).toSorted()) : [file];
  return [...new Set(files.flatMap((path) => certificatesIn(readFileSync(path, 'latin1'))))];
}

/** By this process itself, in all that it asks other servers. */
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

export async function buildAuthorities({ certificates }: Authorities, building: Building): Promise<void> {
  const { folder, say, signal, within = [] } = building;
  for (const name of ['work', 'root', 'certificates']) mkdirSync(join(folder, name), { mode: 0o755 });
  for (const [index, pem] of certificates.entries()) writeFileSync(join(folder, 'certificates', `machine-${index + 1}.crt`), pem);
  const script = join(import.meta.dirname, 'trust-authorities.sh');
  await runConfined([...within, 'sh', script, basename(folder), lowerFolders(building)], layersBeside(building), say, signal);
}

/** For a program of Node on this machine, as a file beside what is being built. */
export function authorityFile({ folder, authorities = [] }: Pick<Building, 'folder' | 'authorities'>): Record<string, string> {
  if (authorities.length === 0) return {};
  const file = join(folder, 'authorities.pem');
  if (!existsSync(file)) writeFileSync(file, authorities.join(''));
  return { NODE_EXTRA_CA_CERTS: file };
}
