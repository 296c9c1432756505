/** The layer of an image that has it trust the machine's own certificate authorities (drivers/authorities.ts), made as Debian itself takes them in. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { runConfined } from './build-command.ts';
import { type Building, layersBeside, lowerFolders } from './build-debian.ts';
import type { Authorities } from './recipe.ts';

export async function buildAuthorities({ certificates }: Authorities, building: Building): Promise<void> {
  const { folder, say, signal, within = [] } = building;
  for (const name of ['work', 'root', 'certificates']) mkdirSync(join(folder, name), { mode: 0o755 });
  for (const [index, pem] of certificates.entries()) writeFileSync(join(folder, 'certificates', `machine-${index + 1}.crt`), pem);
  const script = join(import.meta.dirname, 'trust-authorities.sh');
  await runConfined([...within, 'sh', script, basename(folder), lowerFolders(building)], layersBeside(building), say, signal);
}

/** What a program of Node on this machine is told to trust them: they are a file beside what is being built. */
export function authorityFile({ folder, authorities = [] }: Pick<Building, 'folder' | 'authorities'>): Record<string, string> {
  if (authorities.length === 0) return {};
  const file = join(folder, 'authorities.pem');
  if (!existsSync(file)) writeFileSync(file, authorities.join(''));
  return { NODE_EXTRA_CA_CERTS: file };
}
