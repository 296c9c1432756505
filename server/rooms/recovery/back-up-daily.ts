/** The installation is backed up once a day; of these, a week is kept. */
import { sql } from 'kysely';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Db } from '../../kernel/sql.ts';
import { backUpPlatform, forgetOldPlatformBackups } from './platform-backup.ts';
import { removeLeftScratch } from './scratch.ts';

/** When a new installation is backed up for the first time; before that there is little to lose. */
const firstAfterHours = 1;
const everyHours = 24;

export const backUpDaily: Reconciler = {
  name: 'back up the platform',
  everySeconds: 600,
  usesMachine: true,
  isSlow: true,
  run: async ({ db, blobs, config, log }, signal) => {
    const { data } = config;
    await removeLeftScratch({ db, blobs, data }).catch((error: unknown) =>
      log.warn({ error }, 'what interrupted commands left could not be removed; it is tried again'),
    );
    if (!(await isDue(db))) return;
    try {
      const { backup, bytes, bytesAdded, places } = await backUpPlatform({ db, blobs, data, signal });
      log.info({ backup, bytes, bytesAdded, places: Object.keys(places) }, 'the platform is backed up');
      await forgetOldPlatformBackups(blobs, signal);
    } catch (error) {
      if (!signal.aborted) log.error({ error }, 'the platform could not be backed up; it is tried again in ten minutes');
    }
  },
};

async function isDue(db: Db): Promise<boolean> {
  const { rows } = await sql<{ is_due: boolean }>`
    select coalesce(backed_up_at + make_interval(hours => ${everyHours}), created_at + make_interval(hours => ${firstAfterHours})) <= now() as is_due
    from installation`.execute(db);
  return rows[0]?.is_due ?? false;
}
