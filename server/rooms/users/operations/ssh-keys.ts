import { Type } from 'typebox';
import { array, created, deleted, one, operation } from '../../../kernel/operation.ts';
import { Problem } from '../../../kernel/problem.ts';
import { Line, Uuid } from '../../../kernel/schema.ts';
import { addSshKey } from '../add-ssh-key.ts';
import { deleteSshKey, sshKeysOf } from '../queries.ts';
import { SshKeyEntity } from '../ssh-key.ts';
import { UserEntity } from '../user.ts';

const keyCharactersMax = 16_384;

export const postSshKey = operation({
  summary: 'Add an SSH key',
  endpoint: 'POST /ssh_keys',
  permission: 'signed-in',
  body: Type.Object({
    value: Type.String({ minLength: 1, maxLength: keyCharactersMax, description: 'The public key, as in a .pub file.' }),
    title: Type.Optional(Line(200, { description: "By default the key's comment." })),
    uuid: Type.Optional(Uuid),
  }),
  example: {
    value: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ada@example.org',
    title: 'Laptop',
  },
  returns: created(SshKeyEntity),
  handle: async ({ caller, body }, { db }) => {
    const hindrance = caller.hindrance({}, 'user:security');
    if (hindrance) throw hindrance;
    if (body.uuid !== undefined && body.uuid !== caller.id)
      throw new Problem('forbidden', 'You can add SSH keys only for yourself: leave out uuid.');
    return addSshKey(db, caller.user, body);
  },
});

export const listSshKeys = operation({
  summary: "List a user's SSH keys",
  endpoint: 'GET /users/{user_id}/ssh-keys',
  on: UserEntity,
  rel: 'ssh-keys',
  permission: 'ssh-key:view',
  returns: array(SshKeyEntity),
  handle: ({ target }, { db }) => sshKeysOf(db, target.id),
});

export const getSshKey = operation({
  summary: 'Get an SSH key',
  endpoint: 'GET /ssh_keys/{key_id}',
  on: SshKeyEntity,
  permission: 'ssh-key:view',
  returns: one(SshKeyEntity),
  handle: async ({ target }) => target,
});

export const removeSshKey = operation({
  summary: 'Delete an SSH key',
  endpoint: 'DELETE /ssh_keys/{key_id}',
  on: SshKeyEntity,
  rel: 'delete',
  permission: 'ssh-key:delete',
  returns: deleted,
  handle: async ({ target }, { db }) => {
    await deleteSshKey(db, target.key_id);
  },
});
