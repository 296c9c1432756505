/** The images that containers start from: which are built, what they take, and when Debian was last asked for newer packages. */
import { Type, type Static } from 'typebox';
import { catalogue, entryOf, imageTypes, typesOf } from '../../catalogue/catalogue.ts';
import { trustedAuthorities } from '../../drivers/authorities.ts';
import { openImages } from '../../drivers/images/cached-images.ts';
import { inMilliseconds, nullable, Time } from '../../kernel/schema.ts';
import { stateOf } from '../../kernel/state-of.ts';
import type { Platform } from '../../platform.ts';
import { imageLimits } from '../deployments/work.ts';

export const ImagesTold = Type.Object({
  types: Type.Array(
    Type.Object({
      type: Type.String(),
      tried: Type.Boolean({ description: 'False where it is offered, and nobody is known to have run it here.' }),
      note: Type.Unsafe<string | null>({ ...nullable(Type.String()), description: 'What to know of it before one relies on it.' }),
      bytes: Type.Unsafe<number | null>({
        ...nullable(Type.Number()),
        description: 'With layers that other images share; null where it is not built, which the first deployment does.',
      }),
    }),
  ),
  bytes_taken: Type.Number({ description: 'What all layers together take of the disk, each once.' }),
  bytes_collectable: Type.Number({ description: 'What of it nothing has used lately.' }),
  updated_at: Type.Unsafe<string | null>({
    ...nullable(Time),
    description: 'When Debian was last asked for newer packages; null where nothing is built.',
  }),
  update_days: Type.Number({ description: 'How often it is asked, in days; 0: only when an operator asks.' }),
  update_asked_at: nullable(Time),
});

/** The folder of images is looked at directly, so that a process that does not have the machine can tell, too. */
const imagesOf = stateOf<Platform, ReturnType<typeof openImages>>(({ config }) =>
  openImages(config.images, imageTypes, { authorities: trustedAuthorities(config.caCertificates) }),
);

export async function imagesNow(platform: Platform, update_asked_at: string | null): Promise<Static<typeof ImagesTold>> {
  const images = imagesOf(platform);
  const types = await Promise.all(
    typesOf(catalogue).map(async (type) => {
      const { isUntried = false, note = null } = entryOf(catalogue, type).version;
      return { type, tried: !isUntried, note, bytes: (await images.built(type))?.bytes ?? null };
    }),
  );
  const isAny = types.some(({ bytes }) => bytes !== null);
  const { taken, collectable } = isAny ? images.bytes(imageLimits) : { taken: 0, collectable: 0 };
  const seconds = isAny ? images.secondsSinceUpdate() : undefined;
  return {
    types,
    bytes_taken: taken,
    bytes_collectable: collectable,
    updated_at: seconds === undefined ? null : new Date(Date.now() - seconds * 1000).toISOString(),
    update_days: platform.config.imageUpdateDays,
    update_asked_at: update_asked_at && inMilliseconds(update_asked_at),
  };
}
