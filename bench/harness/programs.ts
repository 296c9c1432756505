/** Programs of Debian that benches measure against. As root what is missing is installed; else it is said. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const folders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

const find = (program: string) => folders.map((folder) => join(folder, program)).find((path) => existsSync(path));

/** `packages` by program; returns the paths of the programs. */
export function ensurePrograms<Program extends string>(packages: Record<Program, string>): Record<Program, string> {
  const programs = Object.keys(packages) as Program[];
  const missing = programs.filter((program) => !find(program)).map((program) => packages[program]);
  if (missing.length > 0 && process.getuid?.() === 0) {
    const settings = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    execFileSync('apt-get', ['install', '--yes', '--no-install-recommends', '-q', ...missing], { env: settings, stdio: 'ignore' });
  }
  const paths = programs.map((program) => [program, find(program)] as const);
  const absent = paths.filter(([, path]) => !path).map(([program]) => packages[program]);
  if (absent.length > 0) throw new Error(`This bench needs apt-get install ${absent.join(' ')}.`);
  return Object.fromEntries(paths) as Record<Program, string>;
}
