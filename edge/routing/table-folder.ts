/**
 * The table on disk: a file for each environment, so that changing one writes one. A file appears whole, by a rename. One that cannot be read is set
 * aside under a name that says so, and is missing from the table until it is sent again; it never keeps the edge from starting.
 *
 * Addresses of instances are good until the machine starts anew, or somebody takes down all that runs on it and removes `boot`: then the same address
 * may be another environment's. What was kept from before is on hold until it is sent again.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnvironment } from './environment-schema.ts';
import type { EdgeEnvironment } from './table.ts';

export interface TableFolder {
  load(): { environments: EdgeEnvironment[]; setAside: string[] };
  /** Undefined: not there, or not readable. */
  read(cluster: string): EdgeEnvironment | undefined;
  /** Survives the death of any process, but perhaps not that of the machine: after that, the control plane sends what is missing. */
  write(environment: EdgeEnvironment): Promise<void>;
  remove(cluster: string): Promise<void>;
}

const extension = '.json';
const thisBoot = () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8');

export function openTableFolder(folder: string): TableFolder {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fileOf = (cluster: string) => join(folder, `${cluster}${extension}`);
  let writes = 0;

  const read = (cluster: string) => {
    try {
      const environment = parseEnvironment(JSON.parse(readFileSync(fileOf(cluster), 'utf8')));
      if (environment.cluster !== cluster) throw new Error('It is the file of another environment');
      return environment;
    } catch {
      return undefined;
    }
  };

  const isFromBefore = () => {
    try {
      return readFileSync(join(folder, 'boot'), 'utf8') !== thisBoot();
    } catch {
      return true;
    }
  };
  const held = (environment: EdgeEnvironment): EdgeEnvironment => {
    const { holds_until, ...rest } = environment;
    if (environment.state !== 'open' && holds_until === undefined) return environment;
    const holding = { ...rest, state: 'holding' as const };
    writeWhole(fileOf(environment.cluster), JSON.stringify(holding));
    return holding;
  };

  return {
    load() {
      const fromBefore = isFromBefore();
      const environments: EdgeEnvironment[] = [];
      const setAside: string[] = [];
      for (const name of readdirSync(folder)) {
        if (name.endsWith('.new')) rmSync(join(folder, name), { force: true });
        if (!name.endsWith(extension)) continue;
        const environment = read(name.slice(0, -extension.length));
        if (environment) environments.push(fromBefore ? held(environment) : environment);
        else {
          renameSync(join(folder, name), join(folder, `${name}.unreadable`));
          setAside.push(name);
        }
      }
      // This comes last: if the process is killed before, the next one holds the environments once more.
      if (fromBefore) writeWhole(join(folder, 'boot'), thisBoot());
      return { environments, setAside };
    },
    read,
    async write(environment) {
      const scratch = `${fileOf(environment.cluster)}.${process.pid}.${writes++}.new`;
      await writeFile(scratch, JSON.stringify(environment), { mode: 0o600 });
      await rename(scratch, fileOf(environment.cluster));
    },
    remove: (cluster) => rm(fileOf(cluster), { force: true }),
  };
}

function writeWhole(file: string, text: string) {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
