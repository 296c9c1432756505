/** Service types from images of others: what is described, by whom, and how the operator describes another one. */
import { readFileSync } from 'node:fs';
import { catalogue, isBuiltIn, typesOf } from '../server/catalogue/catalogue.ts';
import { shippedDescriptions } from '../server/catalogue/described-services.ts';
import { readConfig, type Config } from '../server/config.ts';
import { Problem } from '../server/kernel/problem.ts';
import type { Db } from '../server/kernel/sql.ts';
import { addServiceType, offerStored, removeServiceType, storedServiceTypes } from '../server/rooms/installation/work.ts';
import { isInstalled, operate, withDatabase } from './database.ts';

export const addServiceTypeFrom = ([file]: string[]) =>
  operate(async (db) => {
    if (file === undefined) throw new Problem('invalid-request', 'Name a file: ./offshoot service-type add search.yaml');
    console.log(await addDescription(db, readFile(file)));
  });

export async function addDescription(db: Db, text: string): Promise<string> {
  const { types } = await addServiceType(db, text);
  return `${types.join(', ')} can be used now. What runs already keeps to what it was started with until it is redeployed for maintenance.`;
}

export const removeServiceTypeNamed = ([name]: string[]) =>
  operate(async (db) => {
    if (name === undefined) throw new Problem('invalid-request', 'Name a service type: ./offshoot service-type remove search');
    await removeServiceType(db, name);
    console.log(
      `${name} is removed${Object.hasOwn(shippedDescriptions, name) ? '; the one that comes with Offshoot is offered again' : ''}.`,
    );
  });

/** The text of a description, to begin another one from. */
export async function showServiceType([name]: string[]) {
  if (name === undefined) throw new Problem('invalid-request', 'Name a service type: ./offshoot service-type show opensearch');
  const descriptions = await descriptionsNow(readConfig(process.env));
  const found = descriptions.get(name);
  if (!found) {
    const why = isBuiltIn(name) ? 'is made by Offshoot itself, and not described' : 'is no service type';
    throw new Problem('not-found', `${name} ${why}; described are ${[...descriptions.keys()].join(', ')}.`);
  }
  process.stdout.write(found.text);
}

export async function listServiceTypes() {
  for (const [name, { isOurs }] of await descriptionsNow(readConfig(process.env))) {
    const versions = catalogue[name]?.versions ?? [];
    const untried = versions.some(({ isUntried }) => isUntried) ? 'untried' : '';
    console.log(
      [
        name.padEnd(26),
        (isOurs ? 'shipped' : 'described').padEnd(10),
        untried.padEnd(8),
        versions.map(({ version }) => version).join(', '),
      ].join(' '),
    );
  }
}

interface Described {
  text: string;
  isOurs: boolean;
}

/** All descriptions by name: those of the operator, and those that come with Offshoot under names that nothing else has. */
async function descriptionsNow(config: Config): Promise<Map<string, Described>> {
  const described = new Map<string, Described>();
  for (const [name, text] of Object.entries(shippedDescriptions)) if (!isBuiltIn(name)) described.set(name, { text, isOurs: true });
  await offerDescribedTypes(config, (name, text) => described.set(name, { text, isOurs: false }));
  return new Map([...described].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** For commands that name types: those of the operator are among them, where there is an installation. */
export async function offerDescribedTypes(config: Config, note: (name: string, description: string) => void = () => {}): Promise<string[]> {
  if (await isInstalled(config))
    await withDatabase(config, async (db) => {
      const stored = await storedServiceTypes(db);
      for (const { name, description } of stored) note(name, description);
      offerStored(stored, (sentence) => console.error(`offshoot: ${sentence}`));
    });
  return typesOf(catalogue);
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Problem('not-found', `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
}
