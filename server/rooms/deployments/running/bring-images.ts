/** Images that a first push is likely to need are there before it, on a machine that has none yet. */
import { catalogue, imageTypes } from '../../../catalogue/catalogue.ts';
import { trustedAuthorities } from '../../../drivers/authorities.ts';
import { openImages } from '../../../drivers/images/cached-images.ts';
import { runAhead } from '../../../drivers/images/start-ahead.ts';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import { stateOf } from '../../../kernel/state-of.ts';
import type { Platform } from '../../../platform.ts';

/** The preparation that is under way. It takes minutes, and other reconcilers run meanwhile. */
const bringingIn = stateOf<Platform, { bringing?: Promise<void> | undefined }>(() => ({}));

/** Works without opening the machine: nothing runs on it yet, and perhaps nothing ever will. */
export const bringImages: Reconciler = {
  name: 'bring images',
  everySeconds: 600,
  usesMachine: true,
  run: async (platform, signal) => {
    const { config, log } = platform;
    const state = bringingIn(platform);
    if (config.imagesAhead.length === 0 || state.bringing || process.getuid?.() !== 0) return;
    const { brought } = openImages(config.images, imageTypes).ahead();
    const types = config.imagesAhead.filter((type) => !Object.hasOwn(brought, type));
    if (types.length === 0) return;
    log.info({ types }, 'images that a first push is likely to need are brought ahead');
    const task = { folder: config.images, types, catalogue, authorities: trustedAuthorities(config.caCertificates) };
    state.bringing = runAhead(task, (line) => log.info(`brought ahead: ${line}`), signal)
      .catch((error: unknown) =>
        log.warn({ error: error instanceof Error ? error.message : error }, 'images could not be brought ahead; trying again later'),
      )
      .finally(() => (state.bringing = undefined));
  },
  close: async (platform) => bringingIn(platform).bringing,
};
