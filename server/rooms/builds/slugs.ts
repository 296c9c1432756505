/**
 * A slug is what an application runs from: its built files, which nobody changes any more, for one tree and one build configuration. It is there
 * when both are: the row in the database, and the sealed volume that the row names. The row comes last and goes first, so nothing half-built is one.
 */
import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Volumes } from '../../drivers/volumes/volumes.ts';
import type { Db } from '../../kernel/sql.ts';
import { useSlugRow } from './queries.ts';

export interface Slug {
  /** `<project>-<app>-<tree>-<configuration>` */
  slug_id: string;
  tree_id: string;
  config_id: string;
  volume: string;
  /** Where the app has an image of its own: what the build found out about it. */
  image?: SlugImage;
}

/** An image as a deployment runs it, whatever its tag means by then. Layers of the slug's own volume lie on top of it. */
export interface SlugImage {
  /** As the driver of images calls it, by its digest; null where it begins with nothing. */
  type: string | null;
  /** As it was asked for, and what that was then, for people. */
  reference: string;
  digest: string;
  /** How many layers the volume of the slug has, in folders that are numbered from 0. */
  layers: number;
  entrypoint: string[];
  cmd: string[];
  env: Record<string, string>;
  workingFolder: string;
  ports: number[];
}

export const SlugImageSchema = Type.Object({
  type: Type.Union([Type.String(), Type.Null()]),
  reference: Type.String(),
  digest: Type.String(),
  layers: Type.Integer({ minimum: 0, maximum: 127 }),
  entrypoint: Type.Array(Type.String()),
  cmd: Type.Array(Type.String()),
  env: Type.Record(Type.String(), Type.String()),
  workingFolder: Type.String({ pattern: '^/' }),
  ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 })),
});

/** The folder of a slug's volume that has one of its layers. */
export const layerFolder = (index: number) => `layers/${index}/root`;

const digestCharacters = 32;
const forkCharacters = 16;

/** `identity`: `<app>-<tree>-<configuration>` */
export function slugOf(projectId: string, app: string, treeId: string, identity: string): Slug {
  const slug_id = `${projectId}-${identity}`;
  const digest = createHash('sha256').update(slug_id).digest('hex').slice(0, digestCharacters);
  const config_id = identity.slice(`${app}-${treeId}-`.length);
  return { slug_id, tree_id: treeId, config_id, volume: `${slugPrefix}${projectId}-${digest}` };
}

/** The slug of the same build in a project that may be another. The given slug may come from elsewhere, so the result names only slugs of the project. */
export function slugIn(projectId: string, from: string, { slug_id, tree_id, config_id, image }: Slug): Slug {
  return { ...slugOf(projectId, '', tree_id, slug_id.slice(`${from}-`.length)), config_id, ...(image && { image }) };
}

const slugPrefix = 'slug-';
const buildPrefix = 'build-';
const cachePrefix = 'cache-';

/** The name of the container and the volume of one attempt, so that what an earlier attempt left running cannot meddle with it. */
export const buildNameOf = ({ volume }: Slug, attempt: string) => `${buildPrefix}${volume.slice(slugPrefix.length)}-${attempt}`;
/** `fork`: the environment of a fork, which shares no cache with others (cache.ts). */
export const cacheNameOf = (projectId: string, generation: number, fork?: string) =>
  `${cachePrefix}${projectId}-${generation}${fork === undefined ? '' : `-${createHash('sha256').update(fork).digest('hex').slice(0, forkCharacters)}`}`;

export const isSlugName = (name: string) => name.startsWith(slugPrefix);
export const projectOfCache = (name: string): string | undefined => /^cache-([a-z0-9]+)-\d+(?:-[0-9a-f]{16})?$/.exec(name)?.[1];
/** What builds keep in a volume of that name; undefined: the volume does not belong to builds. */
export const buildVolumeKind = (name: string): 'slugs' | 'caches' | undefined =>
  isSlugName(name) ? 'slugs' : projectOfCache(name) === undefined ? undefined : 'caches';
/** The volume of the slug that a build of this name makes; undefined for all other names. */
export function slugVolumeOfBuild(name: string): string | undefined {
  const [, middle] = /^build-([a-z0-9]+-[0-9a-f]+)-[a-z0-9]+$/.exec(name) ?? [];
  return middle === undefined ? undefined : `${slugPrefix}${middle}`;
}

/** Notes that the slug is in use; returns false where it is not there. */
export const useSlug = async (db: Db, volumes: Volumes, slug: Slug): Promise<boolean> =>
  (await useSlugRow(db, slug.slug_id)) && (await volumes.volume(slug.volume)) !== undefined;
