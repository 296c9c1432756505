/**
 * A slug is what an application runs from: its built files, which nobody changes any more, for one tree and one build configuration. It is there
 * when both are: the row in the database, and the sealed volume that the row names. The row comes last and goes first, so nothing half-built is one.
 */
import { createHash } from 'node:crypto';
import type { Volumes } from '../../drivers/volumes/volumes.ts';
import type { Db } from '../../kernel/sql.ts';
import { useSlugRow } from './queries.ts';

export interface Slug {
  /** `<project>-<app>-<tree>-<configuration>` */
  slug_id: string;
  tree_id: string;
  config_id: string;
  volume: string;
}

const digestCharacters = 32;

/** `identity`: `<app>-<tree>-<configuration>` */
export function slugOf(projectId: string, app: string, treeId: string, identity: string): Slug {
  const slug_id = `${projectId}-${identity}`;
  const digest = createHash('sha256').update(slug_id).digest('hex').slice(0, digestCharacters);
  const config_id = identity.slice(`${app}-${treeId}-`.length);
  return { slug_id, tree_id: treeId, config_id, volume: `${slugPrefix}${projectId}-${digest}` };
}

/** The same build, as a project has it that may be another. What says so may come from elsewhere: it names nothing but slugs of the project. */
export function slugIn(projectId: string, from: string, { slug_id, tree_id, config_id }: Slug): Slug {
  return { ...slugOf(projectId, '', tree_id, slug_id.slice(`${from}-`.length)), config_id };
}

const slugPrefix = 'slug-';
const buildPrefix = 'build-';
const cachePrefix = 'cache-';

/** For the container and the volume of one attempt: what an earlier one left running cannot meddle with it. */
export const buildNameOf = ({ volume }: Slug, attempt: string) => `${buildPrefix}${volume.slice(slugPrefix.length)}-${attempt}`;
export const cacheNameOf = (projectId: string, generation: number) => `${cachePrefix}${projectId}-${generation}`;

export const isSlugName = (name: string) => name.startsWith(slugPrefix);
export const projectOfCache = (name: string): string | undefined => /^cache-([a-z0-9]+)-\d+$/.exec(name)?.[1];
/** What builds keep in a volume of that name; undefined: it is none of theirs. */
export const buildVolumeKind = (name: string): 'slugs' | 'caches' | undefined =>
  isSlugName(name) ? 'slugs' : projectOfCache(name) === undefined ? undefined : 'caches';
/** The slug's volume, of the name of one of its builds; undefined for all other names. */
export function slugVolumeOfBuild(name: string): string | undefined {
  const [, middle] = /^build-([a-z0-9]+-[0-9a-f]+)-[a-z0-9]+$/.exec(name) ?? [];
  return middle === undefined ? undefined : `${slugPrefix}${middle}`;
}

/** Notes that it is in use; false where it is not there. */
export const useSlug = async (db: Db, volumes: Volumes, slug: Slug): Promise<boolean> =>
  (await useSlugRow(db, slug.slug_id)) && (await volumes.volume(slug.volume)) !== undefined;
