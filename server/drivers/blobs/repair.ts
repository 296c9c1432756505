/**
 * Repairs a repository at one place. restic stores no piece again that its index knows: where one is damaged, every later backup of the same data would be damaged,
 * too. So damaged files are taken out of use, with all that refers to them but the backups themselves; what is sound in a damaged pack is put into another one
 * before that, as other backups may need just this.
 *
 * Looking takes long, and is done beside others. Each change leaves what a later call can go on from: pieces are in their new pack before the old one goes, and
 * the index is made anew from what is there.
 */
import { forEachAtMost } from '../../kernel/limits.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Repaired } from './blobs.ts';
import { problemOf } from './failures.ts';
import type { Place } from './places.ts';
import { fillAgain, type Repositories } from './repositories.ts';
import { lookAtKeys } from './restic-key.ts';
import { hashOf, isSound, openSeal, packOf, readHeader, readIndex, type Piece, type Seal } from './restic-files.ts';

interface Repairing {
  repositories: Repositories;
  place: Place;
  repository: string;
  signal: AbortSignal | undefined;
}

export async function repairAt(repairing: Repairing): Promise<Repaired> {
  const { repositories, place, repository, signal } = repairing;
  try {
    const seal = await repositories.together(repository, signal, () => openRepository(repairing));
    if (!seal) return { place: place.name, damaged: [], piecesKept: 0 };
    const found = await repositories.together(repository, signal, () => look(repairing, seal));
    const piecesKept = found.isSound ? 0 : await repositories.alone(repository, signal, () => mend(repairing, seal, found));
    return { place: place.name, damaged: [...found.damaged, ...found.missing], piecesKept };
  } catch (error) {
    throw problemOf(error, 'repair', place);
  }
}

/** Undefined where the place has no such repository. */
async function openRepository({ repositories, place, repository, signal }: Repairing): Promise<Seal | undefined> {
  const hasConfig = await repositories.exists(place, repository);
  const keys = await lookAtKeys(place, repository);
  if (!hasConfig && keys.names.length === 0) return repositories.refuseLost(place, repository).then(() => undefined);
  try {
    return await openSeal(await repositories.masterKey(place, repository, signal));
  } catch (error) {
    if (!hasConfig) throw beyondRepair(place, repository, 'config', error);
    if (keys.sound.length === 0) throw beyondRepair(place, repository, keys.names[0] ?? 'keys', error);
    const isAboutConfig = error instanceof Error && /config.*(?:ciphertext|invalid|cannot be loaded)/is.test(error.message);
    throw isAboutConfig ? beyondRepair(place, repository, 'config', error) : error;
  }
}

const beyondRepair = (place: Place, repository: string, name: string, cause: unknown) =>
  new Problem(
    'unavailable',
    `The backups at ${place.name} cannot be repaired: without ${repository}/${name}, which is damaged or missing, nothing there can be read. Put it back from a copy of that place, or ${fillAgain(place, repository)}`,
    { cause, internal: cause instanceof Error ? cause.message : String(cause) },
  );

interface Found {
  /** Names of files whose content is not what it was. */
  damaged: string[];
  /** Packs that an index names and that are gone. */
  missing: string[];
  /** The pieces in each pack, as the indexes list them. */
  pieces: Map<string, Piece[]>;
  isSound: boolean;
}

const idOf = (name: string) => name.slice(name.lastIndexOf('/') + 1);
const packName = (id: string) => `data/${id.slice(0, 2)}/${id}`;

async function look(repairing: Repairing, seal: Seal): Promise<Found> {
  const { place, repository, signal } = repairing;
  const names = await place.names(repository);
  const named = (kind: RegExp) => names.filter((name) => kind.test(name) && /\/[0-9a-f]{64}$/.test(name));
  const [indexes, snapshots, packs] = [named(/^index\//), named(/^snapshots\//), named(/^data\//)];
  const [damaged, pieces]: [string[], Map<string, Piece[]>] = [[], new Map()];
  const judge = (list: readonly string[], isFine: (content: Buffer, name: string) => Promise<boolean>) =>
    forEachAtMost(
      readingsAtOnce,
      list,
      async (name) => {
        // A file that looks damaged may only have been misread, so it is read again.
        for (let reading = 1; reading <= readingsMax; reading += 1) {
          const content = await place.read(repository, name);
          if (content === undefined || (await isFine(content, name))) return;
        }
        damaged.push(name);
      },
      signal,
    );
  const isAsNamed = async (content: Buffer, name: string) => (await hashOf(content)) === idOf(name);
  await judge(snapshots, isAsNamed);
  await judge(indexes, async (content, name) => {
    if (!(await isAsNamed(content, name))) return false;
    for (const [id, list] of await readIndex(seal, content)) pieces.set(id, [...(pieces.get(id) ?? []), ...list]);
    return true;
  });
  await judge(packs, async (content, name) => {
    const list = await piecesIn(seal, content, pieces.get(idOf(name)));
    return (await isAsNamed(content, name)) && (await soundOf(seal, content, list)).length === list.length;
  });
  const there = new Set(packs.map(idOf));
  const missing = [...pieces.keys()].filter((id) => !there.has(id)).map(packName);
  const isListed = packs.every((name) => pieces.has(idOf(name)));
  return { damaged, missing, pieces, isSound: damaged.length === 0 && missing.length === 0 && isListed };
}

const readingsMax = 2;
/** Each reading holds a file in memory and keeps a processor busy. */
const readingsAtOnce = 2;

/** Lists each piece once, even where several indexes have it. */
async function piecesIn(seal: Seal, pack: Buffer, indexed: Piece[] | undefined): Promise<Piece[]> {
  const list = indexed ?? (await readHeader(seal, pack));
  return [...new Map(list.map((piece) => [`${piece.type} ${piece.id}`, piece])).values()];
}

async function soundOf(seal: Seal, pack: Buffer, pieces: readonly Piece[]): Promise<Piece[]> {
  const sound: Piece[] = [];
  for (const piece of pieces) if (await isSound(seal, pack, piece)) sound.push(piece);
  return sound;
}

/** How many pieces were kept. */
async function mend({ repositories, place, repository, signal }: Repairing, seal: Seal, { damaged, pieces }: Found): Promise<number> {
  await repositories.claim(place);
  let piecesKept = 0;
  for (const name of damaged) {
    signal?.throwIfAborted();
    const content = await place.read(repository, name);
    // The pack may have been removed meanwhile.
    if (content === undefined) continue;
    const sound = name.startsWith('data/') ? await soundOf(seal, content, await piecesIn(seal, content, pieces.get(idOf(name)))) : [];
    if (sound.length > 0) {
      const pack = await packOf(seal, content, sound);
      await place.write(repository, packName(await hashOf(pack)), pack);
      piecesKept += sound.length;
    }
    await place.setAside(repository, name);
  }
  const run = (args: readonly string[]) => repositories.run({ place, repository, args, withoutCache: true, signal });
  await run(['unlock', '--remove-all']);
  await run(['rebuild-index']);
  return piecesKept;
}
