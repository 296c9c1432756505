/**
 * Whose a place is. Each place has a file that names the installation which keeps its backups there; whoever finds another named writes and removes nothing: two
 * would tidy away what the other needs, and neither heeds the locks of the other. A place without the file belongs to who comes first.
 *
 * Who we are is known by a file beside our locks, not by the key: whoever rehearses a restore has that, too, and so has a new installation with the settings of
 * an old one. What `./offshoot restore platform` brought back goes on where the old one was: with the same key, the one that was restored last has the place.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { Problem } from '../../kernel/problem.ts';
import { fingerprint, type Secrets } from '../../kernel/secrets.ts';
import { markName, type Place } from './places.ts';
import { createWhole, hasCode, writeWhole } from './whole-file.ts';

const Installation = Type.Object({
  id: Type.String(),
  /** When the installation was restored from a backup; absent where it never was. */
  restored_at: Type.Optional(Type.String()),
});
type Installation = Static<typeof Installation>;

const Owner = Type.Object({
  installation: Installation,
  /** A fingerprint of each key: it tells who has the same key, and nothing about the key. */
  keys: Type.Array(Type.String()),
  /** The name of the machine, for people to read. */
  machine: Type.String(),
});
type Owner = Static<typeof Owner>;

export interface Ownership {
  /** Before anything is written or removed: throws a Problem where the place is another's, and makes it ours where it is nobody's, or was ours before a restore. */
  claim(place: Place): Promise<void>;
  /** Throws a Problem where the place is another's, and changes nothing. */
  look(place: Place): Promise<void>;
}

/** `folder` holds the file that says who we are. */
export function openOwnership(folder: string, secrets: Pick<Secrets, 'derived'>): Ownership {
  const keys = secrets.derived('owner of a place').map(fingerprint);
  const ourselves = async (): Promise<Owner> => ({ installation: await whoWeAre(folder), keys, machine: hostname() });
  const look = async (place: Place) => {
    const ours = await ourselves();
    const owner = await ownerOf(place);
    if (owner && !mayReplace(ours, owner)) throw refusal(place, owner, shareKey(ours, owner));
    return { ours, owner };
  };
  const claim = async (place: Place) => {
    const { ours, owner } = await look(place);
    if (owner && Value.Equal(owner, ours)) return;
    const content = Buffer.from(`${JSON.stringify(ours)}\n`);
    if (owner) return place.mark.replace(content);
    await place.mark.create(content);
    // Another installation may have been faster.
    if (!(await look(place)).owner) throw new Problem('unavailable', `${place.name} does not give back what was stored there.`);
  };
  return { claim, look: async (place) => void (await look(place)) };
}

const shareKey = (one: Owner, other: Owner) => one.keys.some((key) => other.keys.includes(key));

function mayReplace(ours: Owner, owner: Owner): boolean {
  const { id, restored_at } = ours.installation;
  if (owner.installation.id === id) return true;
  return restored_at !== undefined && shareKey(ours, owner) && restored_at > (owner.installation.restored_at ?? '');
}

function refusal({ name, mark }: Place, { installation, machine }: Owner, isOfOurKey: boolean): Problem {
  const { restored_at } = installation;
  const whose =
    isOfOurKey && restored_at !== undefined
      ? `has gone over to the installation on ${machine}, which was restored at ${restored_at.slice(0, 19)}Z from a backup`
      : `has the backups of another installation, on ${machine}`;
  return new Problem(
    'unavailable',
    `${name} ${whose}: nothing is stored or removed there. Set OFFSHOOT_BACKUPS to places that no other uses; if that one is no more, remove ${mark.address}.`,
    { internal: `installation=${installation.id}` },
  );
}

async function ownerOf({ name, mark }: Place): Promise<Owner | undefined> {
  const content = await mark.read();
  if (content === undefined) return undefined;
  const owner = parsed(content);
  if (Value.Check(Owner, owner)) return owner;
  throw new Problem(
    'unavailable',
    `Nobody can tell whose ${name} is, as ${mark.address} is damaged; if it is ours alone, remove that file.`,
  );
}

function parsed(content: Buffer): unknown {
  try {
    return JSON.parse(content.toString());
  } catch {
    return undefined;
  }
}

async function whoWeAre(folder: string): Promise<Installation> {
  const file = join(folder, markName);
  const known = await readFile(file, 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (known !== undefined) return Value.Parse(Installation, JSON.parse(known));
  // Several processes may make the file at once.
  await createWhole(file, Buffer.from(JSON.stringify({ id: randomUUID() })));
  return whoWeAre(folder);
}

/** From now on the restored installation is the one that owns the places of its backups. */
export const noteRestored = (folder: string): Promise<void> => {
  const installation: Installation = { id: randomUUID(), restored_at: new Date().toISOString() };
  return writeWhole(join(folder, markName), Buffer.from(JSON.stringify(installation)));
};
