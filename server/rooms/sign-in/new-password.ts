import type { User } from '../../identity.ts';
import { invalidField } from '../../kernel/problem.ts';
import type { Db } from '../../kernel/sql.ts';
import { countAttempts, forgetAttempts } from './attempts.ts';
import { hashPassword, isPassword } from './passwords.ts';

/** The hash of a new password, for whoever knows the present one; refused otherwise, and not to be guessed at. */
export async function newPasswordHash(db: Db, owner: User, passwords: { present: string; next: string }): Promise<string> {
  await countAttempts(db, [{ limit: 'password change of account', of: owner.id }]);
  if (!(await isPassword(passwords.present, owner.password_hash, owner.id))) throw invalidField('current_password', 'is wrong');
  await forgetAttempts(db, 'password change of account', owner.id);
  return hashPassword(passwords.next, owner.id);
}
