import type { User } from '../../identity.ts';
import { invalidField } from '../../kernel/problem.ts';
import type { Db } from '../../kernel/sql.ts';
import { countAttempts, forgetAttempts } from './attempts.ts';
import { hashPassword, isPassword } from './passwords.ts';

/** Hashes a new password for somebody who knows the present one. Attempts are counted, so that the present one cannot be guessed here. */
export async function newPasswordHash(db: Db, owner: User, passwords: { present: string; next: string }): Promise<string> {
  await countAttempts(db, [{ limit: 'password change of account', of: owner.id }]);
  if (!(await isPassword(passwords.present, owner.password_hash, owner.id))) throw invalidField('current_password', 'is wrong');
  await forgetAttempts(db, 'password change of account', owner.id);
  return hashPassword(passwords.next, owner.id);
}
