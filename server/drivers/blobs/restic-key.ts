/**
 * What lets a password into a repository. restic makes each try of one cost half a second, so that short ones cannot be guessed; ours are 32 random bytes, which
 * nobody guesses, and each command would cost the half second, too. So keys are written as restic writes them, but cheap to try.
 */
import { randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { hashOf, sealOf } from './restic-files.ts';
import type { Place } from './places.ts';

const stretched = promisify<string, Buffer, number, { N: number; r: number; p: number }, Buffer>(scrypt);
const cost = { N: 1024, r: 8, p: 1 };
const saltBytes = 64;
const [encryptBytes, macBytes] = [32, 16];

/** The master key, as restic tells it, is what all of a repository is encrypted with. */
export async function writeKey(place: Place, repository: string, masterKey: string, password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const derived = await stretched(password, salt, encryptBytes + 2 * macBytes, cost);
  const [k, r] = [derived.subarray(encryptBytes, encryptBytes + macBytes), derived.subarray(encryptBytes + macBytes)];
  const seal = await sealOf({ encrypt: derived.subarray(0, encryptBytes), k, r });
  const data = await seal.sealed(Buffer.from(masterKey));
  const [created, name] = [new Date().toISOString(), 'offshoot'];
  const described = { created, username: name, hostname: name, kdf: 'scrypt', ...cost, salt: base64(salt), data: base64(data) };
  const content = Buffer.from(JSON.stringify(described));
  const file = `keys/${await hashOf(content)}`;
  await place.write(repository, file, content);
  return file;
}

export interface KeyFiles {
  names: string[];
  sound: string[];
}

export async function lookAtKeys(place: Place, repository: string): Promise<KeyFiles> {
  const [names, sound]: [string[], string[]] = [await place.names(repository, 'keys/'), []];
  for (const name of names) {
    const content = await place.read(repository, name);
    if (content && name.endsWith(await hashOf(content))) sound.push(name);
  }
  return { names, sound };
}

const base64 = (bytes: Buffer) => bytes.toString('base64');
