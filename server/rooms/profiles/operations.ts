import { Type } from 'typebox';
import { passwordCharactersMax, passwordCharactersMin } from '../../setting-values.ts';
import { deleted, one, operation, page, plain, updated } from '../../kernel/operation.ts';
import { invalidField } from '../../kernel/problem.ts';
import { fileUpload } from '../../kernel/upload.ts';
import { addressFields, AddressEntity, withMetadata } from './address.ts';
import { changeProfileOf } from './change-profile.ts';
import { removePicture, replacePicture } from './change-picture.ts';
import { PictureEntity } from './picture.ts';
import { ProfileEntity, profileFields } from './profile.ts';
import { changeAddress, profilePage } from './queries.ts';

export const listProfiles = operation({
  summary: 'List profiles: your own, and to operators everybody’s',
  endpoint: 'GET /profiles',
  permission: 'signed-in',
  returns: page(ProfileEntity, { sort: ['created_at'], filter: { username: 'string' }, key: 'profiles' }),
  handle: ({ caller, list }, { db }) => profilePage(db, list, caller.user.is_operator ? undefined : caller.id),
});

export const getProfile = operation({
  summary: 'Show the profile of a user',
  endpoint: 'GET /profiles/{userId}',
  on: ProfileEntity,
  permission: 'user:view',
  returns: one(ProfileEntity),
  handle: ({ target }) => Promise.resolve(target),
});

export const updateProfile = operation({
  summary: 'Change the profile of a user, or their password',
  endpoint: 'PATCH /profiles/{userId}',
  on: ProfileEntity,
  rel: 'update',
  permission: 'user:edit',
  body: Type.Partial(
    Type.Object({
      ...profileFields,
      current_password: Type.String({ maxLength: passwordCharactersMax }),
      password: Type.String({
        minLength: passwordCharactersMin,
        maxLength: passwordCharactersMax,
        description: 'A new password, with the present one in current_password. All other sign-ins end.',
      }),
    }),
    { additionalProperties: false },
  ),
  example: { display_name: 'Ada Lovelace', ui_colorscheme: 'dark' },
  returns: updated(ProfileEntity),
  async handle({ caller, target, body: { current_password, password, ...changes } }, platform) {
    const hindrance = password === undefined ? undefined : caller.hindrance({}, 'user:security');
    if (hindrance) throw hindrance;
    if (password !== undefined && current_password === undefined)
      throw invalidField('current_password', 'is required to change the password');
    return changeProfileOf(platform, caller, target.id, {
      changes,
      ...(password !== undefined && current_password !== undefined && { passwords: { present: current_password, next: password } }),
    });
  },
});

export const getAddress = operation({
  summary: 'Show the address of a user',
  endpoint: 'GET /profiles/{userId}/address',
  on: AddressEntity,
  permission: 'user:view',
  returns: one(AddressEntity),
  handle: ({ target }) => Promise.resolve(target),
});

export const updateAddress = operation({
  summary: 'Change the address of a user',
  endpoint: 'PATCH /profiles/{userId}/address',
  on: AddressEntity,
  rel: 'update',
  permission: 'user:edit',
  body: Type.Partial(Type.Object(addressFields), { additionalProperties: false }),
  example: { country: 'NL', name_line: 'Ada Lovelace', thoroughfare: 'Keizersgracht 1', locality: 'Amsterdam', postal_code: '1015 CN' },
  returns: updated(AddressEntity),
  handle: async ({ target, body }, { db }) => withMetadata(await changeAddress(db, target.user_id, body)),
});

const pictureBytesMax = 5 * 1024 * 1024;

export const uploadPicture = operation({
  summary: 'Upload a picture of a user',
  endpoint: 'POST /profile/{uuid}/picture',
  on: PictureEntity,
  permission: 'user:edit',
  body: fileUpload('file', pictureBytesMax, 'A JPEG, PNG, WebP or GIF; it is cropped to a square and made small.'),
  returns: plain(Type.Object({ url: Type.String() })),
  handle: async ({ target, body }, platform) => ({ url: await replacePicture(platform, target, body.file) }),
});

export const deletePicture = operation({
  summary: 'Remove the picture of a user',
  endpoint: 'DELETE /profile/{uuid}/picture',
  on: PictureEntity,
  permission: 'user:edit',
  returns: deleted,
  handle: ({ target }, { db }) => removePicture(db, target),
});
