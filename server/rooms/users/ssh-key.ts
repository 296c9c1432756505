import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Line, Time } from '../../kernel/schema.ts';
import { sshKeyById, type SshKey } from './queries.ts';

export const sshKeyFields = {
  key_id: Type.Integer(),
  uid: Type.Integer({ description: 'The numeric id of its owner.' }),
  fingerprint: Type.String({ description: 'MD5, in hexadecimal.' }),
  title: Line(200),
  value: Type.String(),
  changed: Time,
};

/** A public key that signs its owner in over SSH. */
export const SshKeyEntity = entity({
  name: 'SSH key',
  path: '/ssh_keys/{key_id}',
  params: { key_id: Type.String({ pattern: '^[1-9][0-9]{0,8}$' }) },
  schema: Type.Object(sshKeyFields),
  address: ({ key_id }: SshKey) => ({ key_id: String(key_id) }),
  scope: ({ user_id }) => ({ user: user_id }),
  view: 'ssh-key:view',
  load: ({ key_id }, { db }) => sshKeyById(db, Number(key_id)),
});
