/** Brings back a slug that was built before and is not on the machine any more, from wherever it was kept. It is there whole, or not at all. */
import { randomBytes } from 'node:crypto';
import type { Volumes } from '../../drivers/volumes/volumes.ts';
import type { Db } from '../../kernel/sql.ts';
import { attemptBytes, buildBytesMax } from './build-app.ts';
import { onePerVolume } from './one-per-volume.ts';
import { insertSlug, storedImage } from './queries.ts';
import { buildNameOf, useSlug, type Slug } from './slugs.ts';

export interface Adopted {
  projectId: string;
  app: string;
  slug: Slug;
}

/** `fill` is given an empty folder. What a killed attempt left is collected like what builds leave. */
export const adoptSlug = (
  { db, volumes }: { db: Db; volumes: Volumes },
  { projectId, app, slug }: Adopted,
  fill: (folder: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> =>
  onePerVolume(volumes).run(
    slug.volume,
    async () => {
      if (await useSlug(db, volumes, slug)) return;
      const name = buildNameOf(slug, randomBytes(attemptBytes).toString('hex'));
      try {
        const { path } = await volumes.create(name, buildBytesMax);
        await fill(path);
        await volumes.remove(slug.volume);
        await volumes.snapshot(name, slug.volume);
        await volumes.settle();
        const { bytes } = await volumes.usage(slug.volume);
        const { slug_id, tree_id, config_id, volume, image } = slug;
        await insertSlug(db, {
          id: slug_id,
          project_id: projectId,
          app,
          tree_id,
          config_id,
          volume,
          bytes: String(bytes),
          image: storedImage(image),
        });
      } finally {
        await volumes.remove(name);
      }
    },
    { signal },
  );
