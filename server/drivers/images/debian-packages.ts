/** What Debian packages a root folder has, as dpkg wrote it down there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Packages } from './layer-cache.ts';

/** Of a layer with all below it: dpkg keeps one list, which every layer that adds to it has in whole. None where it has no such list. */
export function packagesIn(root: string): Packages {
  const file = join(root, 'var/lib/dpkg/status');
  if (!existsSync(file)) return {};
  const installed = readFileSync(file, 'utf8')
    .split(/\n\n+/)
    .filter((entry) => /^Status: \S+ \S+ installed$/m.test(entry))
    .map((entry) => [fieldOf(entry, 'Package'), fieldOf(entry, 'Version')] as const);
  return Object.fromEntries(installed);
}

const fieldOf = (entry: string, name: string) => new RegExp(`^${name}: (.+)$`, 'm').exec(entry)?.[1] ?? '';

/** Those that it adds to the layers below, or has in another version. */
export function ownPackages(root: string, below: readonly string[]): Packages {
  const others: Packages = Object.assign({}, ...below.map(packagesIn));
  return Object.fromEntries(Object.entries(packagesIn(root)).filter(([name, version]) => others[name] !== version));
}
