/**
 * Whom tests trust: the authorities of the installations that they start, beside the public ones. This process trusts them in all that it asks by itself;
 * programs that it starts are given a file.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { lookAtDatabase } from '../cli/database.ts';
import type { Config } from '../server/config.ts';
import { authorityCertificate } from '../server/rooms/certificates/public.ts';

const trusted = new Set<string>();
let folder: string | undefined;

/** Trusts the authority of an installation that runs. */
export async function trustAuthorityOf(config: Config): Promise<void> {
  const authority = await lookAtDatabase(config, (db) => authorityCertificate(db, config));
  if (authority === undefined) throw new Error('The installation has no authority.');
  trustAuthority(authority);
}

/** Trusts any other, given as PEM. */
export function trustAuthority(authority: string): void {
  if (trusted.has(authority)) return;
  trusted.add(authority);
  setDefaultCACertificates([...getCACertificates('default'), authority]);
  writeFileSync(trustedFile(), [...trusted].join(''));
}

/** A file of the authorities, as PEM; it grows with each installation. */
export function trustedFile(): string {
  folder ??= makeFolder();
  return join(folder, 'authorities.pem');
}

function makeFolder(): string {
  const made = mkdtempSync(join(tmpdir(), 'offshoot-e2e-trust-'));
  writeFileSync(join(made, 'authorities.pem'), '');
  process.once('exit', () => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Has the browser of whoever has this home folder trust the authorities. */
export function trustInBrowser(home: string): void {
  const database = join(home, '.pki', 'nssdb');
  mkdirSync(database, { recursive: true });
  certutil(['-N', '--empty-password', '-d', `sql:${database}`]);
  for (const [index, authority] of [...trusted].entries())
    certutil(['-A', '-n', `authority ${index + 1}`, '-t', 'C,,', '-d', `sql:${database}`], authority);
}

function certutil(words: string[], input = '') {
  const { status, stderr } = spawnSync('certutil', words, { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`certutil ended with ${status}: ${stderr}`);
}
