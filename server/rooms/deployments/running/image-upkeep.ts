/** Images stay up to date and do not pile up: newer packages of Debian go into them, and layers that nothing uses go. */
import { sql } from 'kysely';
import { Problem } from '../../../kernel/problem.ts';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import type { Db } from '../../../kernel/sql.ts';
import { stateOf } from '../../../kernel/state-of.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { typesOf } from '../stack/stack-locations.ts';
import { hasDeployments } from './kept-stacks.ts';
import type { Stack } from '../stack/stack.ts';
import { deploymentLife } from '../life-cycle.ts';

/** How long, and up to which total size, layers that nothing runs on are kept. */
export const imageLimits = { ageSecondsMax: 30 * 86_400, bytesMax: 20e9 };

/** The update that is under way. It takes minutes, and other reconcilers run meanwhile. */
const updatingIn = stateOf<Platform, { updating?: Promise<void> | undefined }>(() => ({}));

/** Asks for newer packages at most as often as the operator says. Environments get the newer images when they are redeployed; nobody waits for them. */
export const updateImages: Reconciler = {
  name: 'update images',
  everySeconds: 3600,
  usesMachine: true,
  run: async (platform, signal) => {
    const { db, config, machine, log } = platform;
    const state = updatingIn(platform);
    if (state.updating) return;
    const asked = await updateAskedAt(db);
    if (asked === null && (config.imageUpdateDays === 0 || !(await hasDeployments(db)))) return;
    const { images } = await machine();
    const seconds = images.secondsSinceUpdate();
    const isDue = seconds !== undefined && (asked !== null || seconds >= config.imageUpdateDays * 86_400);
    if (!isDue) return settleAsked(db, asked);
    state.updating = images
      .update(undefined, signal)
      .then(({ packages, types }) => {
        if (types.length > 0)
          log.info(
            { types, packages },
            'images were rebuilt with newer packages of Debian; apps get them when they are redeployed, services at maintenance',
          );
      })
      .catch((error: unknown) => {
        if (!signal.aborted)
          log.warn({ error: error instanceof Problem ? error.message : error }, 'images could not be updated; trying again later');
      })
      // Whoever is stopped before the end begins again after the next start.
      .then(() => (signal.aborted ? undefined : settleAsked(db, asked)))
      .finally(() => (state.updating = undefined));
  },
  close: async (platform) => updatingIn(platform).updating,
};

/** An operator can ask for an update at any time; the question stays until it was answered, also over a restart. */
async function updateAskedAt(db: Db): Promise<string | null> {
  const { rows } = await sql<{ asked: string | null }>`select image_update_asked_at as asked from installation`.execute(db);
  return rows[0]?.asked ?? null;
}

async function settleAsked(db: Db, asked: string | null): Promise<void> {
  if (asked !== null)
    await sql`update installation set image_update_asked_at = null where image_update_asked_at <= ${asked}::timestamptz`.execute(db);
}

export const collectImages: Reconciler = {
  name: 'collect images',
  everySeconds: 21_600,
  usesMachine: true,
  run: async ({ db, machine, log }) => {
    if (!(await hasDeployments(db))) return;
    const removed = await collectUnused(db, await machine());
    if (removed.length > 0) log.info({ layers: removed }, 'layers of images that nothing uses any more were removed');
  },
};

/** Keeps the layers that paused and sleeping environments will start from, too. */
export async function collectUnused(db: Db, { images, runtime }: Pick<Machine, 'images' | 'runtime'>): Promise<string[]> {
  const { rows } = await sql<
    Pick<Stack, 'model' | 'slugs'>
  >`select model, slugs from deployments where ${deploymentLife.sqlPossible('status', 'occupy')}`.execute(db);
  const deployed = await Promise.all([...new Set(rows.flatMap(typesOf))].map((type) => images.built(type)));
  const running = await runtime.list();
  const keep = [...running, ...deployed].flatMap((one) => one?.layers ?? []);
  return images.collect(imageLimits, new Set(keep));
}
