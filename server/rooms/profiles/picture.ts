import { Type } from 'typebox';
import type { User } from '../../identity.ts';
import { entity } from '../../kernel/operation.ts';
import { Uuid } from '../../kernel/schema.ts';
import { userById } from '../users/public.ts';

/** The picture of a person, under the one path where the published API says `profile` in the singular. */
export const PictureEntity = entity({
  name: 'picture',
  path: '/profile/{uuid}/picture',
  params: { uuid: Uuid },
  schema: Type.Object({ picture: Type.String() }),
  address: ({ id }: User) => ({ uuid: id }),
  scope: ({ id }) => ({ user: id }),
  view: 'user:view',
  load: ({ uuid }, { db }) => userById(db, uuid),
});
