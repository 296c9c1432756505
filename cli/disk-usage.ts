/**
 * What the installation takes of the disk, and what of that could be freed; what of the machine is given out, and to how many. It only looks: beside a
 * running platform, and without one, when the embedded PostgreSQL is started for the look alone.
 */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Config } from '../server/config.ts';
import { trustedAuthorities } from '../server/drivers/authorities.ts';
import { openImages } from '../server/drivers/images/cached-images.ts';
import { imageTypes } from '../server/catalogue/catalogue.ts';
import { openRuncInside } from '../server/drivers/runtime/runc/runc.ts';
import { run } from '../server/drivers/command.ts';
import { lookAtVolumes, type VolumesLook } from '../server/drivers/volumes/look-at-volumes.ts';
import type { Db } from '../server/kernel/sql.ts';
import { logsFolder } from '../server/machine.ts';
import { imageLimits, knownClusters, machineUse, volumeOwners, type VolumeKind } from '../server/rooms/deployments/work.ts';
import { lookAtDatabase } from './database.ts';

interface Taken {
  what: string;
  bytes: number | undefined;
  freeableBytes?: number;
  /** How many there are, or how they could be freed. */
  note?: string;
}

const megabyte = 2 ** 20;
const inWords = (bytes: number) => (bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** No lines where nothing was ever started. */
export async function diskUsageLines(config: Config): Promise<string[]> {
  if (!existsSync(join(config.data, 'secret-key')) && config.databaseUrl === undefined) return [];
  const volumes = await lookAtVolumes(config);
  const images = imagesTaken(config);
  try {
    return await lookAtDatabase(config, async (db) => {
      const taken = [images, ...(await volumesTaken(db, volumes)), await logsTaken(db, config), await databaseTaken(db, config)];
      return ['', 'Taken of the disk:', ...taken.map(takenLine), '', ...(await givenLines(db, config))];
    });
  } catch (error) {
    return ['', `What is taken and given out cannot be told: ${reasonOf(error)}`];
  }
}

/** What PostgreSQL says of a column or a table that it does not know. */
const unknownNames = new Set(['42703', '42P01']);

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) throw error;
  if ('code' in error && unknownNames.has(String(error.code)))
    return 'the database is of an older version; the next start of the platform brings it up to date.';
  return error.message;
}

const takenLine = ({ what, bytes, freeableBytes = 0, note = '' }: Taken) => {
  const freeable = freeableBytes > 0 ? `${inWords(freeableBytes)} could be freed` : '';
  const notes = [note, freeable].filter((words) => words !== '').join('; ');
  return `  ${what.padEnd(28)} ${(bytes === undefined ? 'unknown' : inWords(bytes)).padStart(10)}  ${notes}`.trimEnd();
};

function imagesTaken({ images, caCertificates }: Config): Taken {
  if (!existsSync(join(images, 'layers'))) return { what: 'images', bytes: 0 };
  const { taken, collectable } = openImages(images, imageTypes, { authorities: trustedAuthorities(caCertificates) }).bytes(imageLimits);
  return { what: 'images', bytes: taken, freeableBytes: collectable, note: './offshoot image collect' };
}

const kindsInWords: Record<VolumeKind, string> = {
  data: 'data of environments',
  slugs: 'slugs',
  caches: 'build caches',
  backups: 'snapshots of backups',
  others: 'scratch and others',
};

/** Data that several volumes share is counted for each of them, and once in `volumes together`; only data that nobody else holds could be freed. */
async function volumesTaken(db: Db, look: VolumesLook | undefined): Promise<Taken[]> {
  const ownerOf = await volumeOwners(db);
  const all = (look?.volumes ?? []).map((volume) => ({ ...volume, ...ownerOf(volume.name) }));
  const isKnown = look === undefined || look.volumes !== undefined;
  const each = Object.entries(kindsInWords).map(([kind, what]): Taken => {
    const of = all.filter((volume) => volume.kind === kind);
    const sum = (volumes: typeof of, bytes: 'bytes' | 'exclusiveBytes') => volumes.reduce((total, volume) => total + volume[bytes], 0);
    const unneeded = of.filter(({ isUnneeded }) => isUnneeded);
    const shared = sum(of, 'bytes') - sum(of, 'exclusiveBytes');
    return {
      what,
      bytes: isKnown ? sum(of, 'bytes') : undefined,
      freeableBytes: sum(unneeded, 'exclusiveBytes'),
      note: [`${of.length}`, ...(shared > 0 ? [`${inWords(shared)} shared with others`] : [])].join(', '),
    };
  });
  const unmounted = look && !look.volumes ? { note: 'the pool is not mounted; the next start does it' } : {};
  return [...each, { what: 'volumes together, on disk', bytes: look?.diskBytes ?? 0, ...unmounted }];
}

const bytesOf = async (folder: string): Promise<number> =>
  existsSync(folder) ? Number.parseInt(await run('du', ['--summarize', '--block-size=1', '--', folder]), 10) : 0;

/** Logs of environments that are gone belong to nobody. */
async function logsTaken(db: Db, config: Config): Promise<Taken> {
  const folder = logsFolder(config);
  if (!existsSync(folder)) return { what: 'logs', bytes: 0 };
  const known = await knownClusters(db);
  let freeableBytes = 0;
  for (const name of await readdir(folder)) if (!known.has(name)) freeableBytes += await bytesOf(join(folder, name));
  return { what: 'logs', bytes: await bytesOf(folder), freeableBytes };
}

/** The database, together with PostgreSQL's own files where PostgreSQL is ours. */
async function databaseTaken(db: Db, { data, databaseUrl }: Config): Promise<Taken> {
  const { rows } = await sql<{ bytes: string }>`select pg_database_size(current_database())::text as bytes`.execute(db);
  const bytes = Number(rows[0]?.bytes ?? 0);
  if (databaseUrl !== undefined) return { what: 'database', bytes };
  return { what: 'database', bytes: await bytesOf(join(data, 'postgres')), note: `${inWords(bytes)} of it tables` };
}

/** What was given out of the machine; disks as the platform last found them. */
async function givenLines(db: Db, config: Config): Promise<string[]> {
  const { overcommit } = config;
  const { given, there, environments } = await machineUse(db);
  const { running, paused, sleeping } = environments;
  const has = { cpu: availableParallelism(), memory: totalmem() / megabyte, disk: there?.disk };
  const line = (kind: keyof typeof has, name: string, unit: string) => {
    const [factor, amount] = [overcommit[kind], has[kind]];
    const rounded = (number: number) => String(kind === 'cpu' ? Math.round(number * 100) / 100 : Math.round(number));
    const of = amount === undefined ? 'unknown' : `${rounded(amount * factor)} ${unit} (${factor} times the ${rounded(amount)} there are)`;
    return `  ${name.padEnd(28)} ${`${rounded(given[kind])} ${unit}`.padStart(10)}  of ${of}`;
  };
  return [
    `Given out to environments, of which ${running} are to run, ${paused} are paused and ${sleeping} asleep:`,
    line('cpu', 'processors', 'CPU'),
    line('memory', 'memory', 'MB'),
    line('disk', 'disks and logs', 'MB'),
    ...(await containerLines(config)),
  ];
}

/** The containers that are there, not those that should be. Only root can look. */
async function containerLines({ data }: Config): Promise<string[]> {
  const folder = join(data, 'runtime');
  if (process.getuid?.() !== 0 || !existsSync(folder)) return [];
  const states = await openRuncInside(folder).list();
  const down = states
    .filter(({ status }) => status === 'stopped' || status === 'restarting')
    .map(({ name, status }) => `${name} (${status})`);
  const notes = down.length > 0 ? `do not run: ${down.join(', ')}` : 'all of them run';
  return [`  ${'containers'.padEnd(28)} ${String(states.length).padStart(10)}  ${notes}`];
}
