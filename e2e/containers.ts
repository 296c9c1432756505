/** What runs in containers of an installation, as the machine tells of it. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from './processes.ts';

/** Stacks that have a container; its name begins with the stack's id. */
export function stacksIn(data: string): string[] {
  const folder = join(data, 'runtime', 'containers');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return [...new Set(names.map((name) => name.split('-', 1)[0] ?? ''))];
}

/** With their monitors. */
export const processesOfStack = (stack: string): number[] => processesNaming(`/${stack}-`);

/** Of all stacks and builds. */
export const processesIn = (data: string): number[] =>
  processesNaming(`offshoot-${readFileSync(join(data, 'runtime', 'instance'), 'utf8').trim()}`);

/** By their control group, or by what they were started with. */
function processesNaming(words: string): number[] {
  const says = (file: string) => {
    try {
      return readFileSync(file, 'utf8').includes(words);
    } catch {
      return false;
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && (says(`/proc/${name}/cgroup`) || says(`/proc/${name}/cmdline`)))
    .map(Number)
    .filter(isAlive);
}
