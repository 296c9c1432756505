/** What Debian packages a root folder has, as dpkg wrote it down there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Packages } from './layer-cache.ts';

/** The packages of a layer with all layers below it: dpkg keeps one list, and every layer that adds to it has the whole list. None where the layer has no list. */
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

/** The packages that a layer adds to those below, or has in another version. */
export function ownPackages(root: string, below: readonly string[]): Packages {
  const others: Packages = Object.assign({}, ...below.map(packagesIn));
  return Object.fromEntries(Object.entries(packagesIn(root)).filter(([name, version]) => others[name] !== version));
}
