import { createHash } from 'node:crypto';
import type { User } from '../../identity.ts';
import { parsePublicKey } from '../../drivers/ssh/public-key.ts';
import { invalidField, Problem } from '../../kernel/problem.ts';
import type { Db } from '../../kernel/sql.ts';
import { insertSshKey, sshKeysOf, type SshKey } from './queries.ts';

const sshKeysMax = 100;
const titleCharactersMax = 200;

export async function addSshKey(db: Db, owner: User, { value, title }: { value: string; title?: string }): Promise<SshKey> {
  const key = parsePublicKey(value);
  if (!key)
    throw invalidField('value', 'must be an OpenSSH public key: ssh-ed25519, ecdsa-sha2-nistp256/384/521, or ssh-rsa of 2048 bits or more');
  if ((await sshKeysOf(db, owner.id)).length >= sshKeysMax) {
    throw new Problem('conflict', `A user can have ${sshKeysMax} SSH keys; delete one that is no longer used.`);
  }
  const added = await insertSshKey(db, {
    user_id: owner.id,
    title: title || oneLine(key.comment) || key.type,
    value: `${key.type} ${key.blob.toString('base64')}`,
    fingerprint: createHash('md5').update(key.blob).digest('hex'),
  });
  return { ...added, uid: owner.uid };
}

const oneLine = (text: string) => text.replaceAll(/[\p{Cc}]/gu, '').slice(0, titleCharactersMax);
