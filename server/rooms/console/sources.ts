/** Where the sources of the console are, and which they are. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const repository = join(import.meta.dirname, '..', '..', '..');

/** Where the platform serves it. */
export const consolePath = '/console';
export const sourceFolder = join(repository, 'console');
export const builtFolder = join(repository, 'node_modules', '.cache', 'offshoot-console');

/** Besides the console itself: the versions of its packages, and how it is built. */
const others = ['package-lock.json', 'server/rooms/console/build-console.ts'];

/** Names what is built from these sources: the same sources are built once. */
export function hashOfSources(): string {
  const own = globSync('console/**/*.{ts,tsx,css,html,svg}', { cwd: repository }).filter((name) => !name.endsWith('.test.ts'));
  const hash = createHash('sha256');
  for (const name of [...own, ...others].toSorted()) hash.update(`${name}\0`).update(readFileSync(join(repository, name)));
  return hash.digest('hex').slice(0, 32);
}
