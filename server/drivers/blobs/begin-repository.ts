/**
 * A repository as `restic init` makes one. restic takes more than a second of a processor for it: it finds out how dear a try of a password can be on this machine, and
 * has to try it once more before it tells what all is encrypted with, so that the key can be replaced by one that is cheap to try (restic-key.ts). Made here, it has that key
 * from the start.
 */
import { randomBytes } from 'node:crypto';
import { randomPolynomial } from './polynomials.ts';
import type { Place } from './places.ts';
import { sealOf } from './restic-files.ts';
import { writeKey } from './restic-key.ts';

const repositoryVersion = 2;

/** By `polynomial` restic cuts files into pieces: two repositories that have the same cut the same files alike. What says that it is whole comes last. */
export async function beginRepository(place: Place, repository: string, password: string, polynomial = randomPolynomial()): Promise<void> {
  const keys = { encrypt: randomBytes(32), k: randomBytes(16), r: randomBytes(16) };
  const base64 = (key: keyof typeof keys) => keys[key].toString('base64');
  const masterKey = JSON.stringify({ mac: { k: base64('k'), r: base64('r') }, encrypt: base64('encrypt') });
  await writeKey(place, repository, masterKey, password);
  const config = { version: repositoryVersion, id: randomBytes(32).toString('hex'), chunker_polynomial: polynomial };
  await place.write(repository, 'config', await (await sealOf(keys)).sealed(Buffer.from(JSON.stringify(config))));
}
