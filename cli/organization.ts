/** How many users an organization may have. */
import { Problem } from '../server/kernel/problem.ts';
import { setUsersMax } from '../server/rooms/organizations/public.ts';
import { operate } from './database.ts';

export const limitUsers = ([name = '', users = '']: string[]) =>
  operate(async (db) => {
    if (users !== 'none' && !/^[1-9]\d{0,6}$/.test(users)) {
      throw new Problem('invalid-request', 'Give a name and a number: ./offshoot organization limit acme 50');
    }
    const organization = await setUsersMax(db, `name=${name}`, users === 'none' ? null : Number(users));
    if (!organization) throw new Problem('not-found', `There is no organization ${name}.`);
    console.log(
      `${organization.label} may have ${users === 'none' ? 'as many users as it likes' : users === '1' ? 'one user' : `${users} users`}.`,
    );
  });
