import type { User } from '../../identity.ts';
import { randomSecret } from '../../kernel/secrets.ts';
import type { Db } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { changeUser } from '../users/public.ts';
import { encodePicture, pictureType } from './encode-picture.ts';
import { deletePicture, putPicture } from './queries.ts';

const versionBytes = 16;

export const picturesPath = '/pictures';

/** Anybody who knows the address of a picture may see it. Each picture has a new address, which nobody can guess. */
export async function replacePicture({ db, config }: Platform, owner: User, file: Buffer): Promise<string> {
  const content = await encodePicture(file);
  const version = randomSecret(versionBytes);
  const url = `${config.url}${picturesPath}/${version}.webp`;
  await db.transaction().execute(async (tx) => {
    await putPicture(tx, { user_id: owner.id, version, content_type: pictureType, content });
    await changeUser(tx, owner.id, { picture: url });
  });
  return url;
}

export async function removePicture(db: Db, owner: User): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await deletePicture(tx, owner.id);
    await changeUser(tx, owner.id, { picture: '' });
  });
}
