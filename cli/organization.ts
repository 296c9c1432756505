/** Organizations, for the operator at the machine: how many users one may have, and whether it is suspended. */
import { nudge } from '../server/kernel/reconciler.ts';
import { Problem } from '../server/kernel/problem.ts';
import type { Db } from '../server/kernel/sql.ts';
import { followSuspensions } from '../server/rooms/environments/work.ts';
import { asOperator } from '../server/rooms/audit/work.ts';
import { organizationAt, setUsersMax, type Organization } from '../server/rooms/organizations/public.ts';
import { reasonCharactersMax, resumeOrganization, suspendOrganization } from '../server/rooms/organizations/work.ts';
import { operate } from './database.ts';
import { withSecrets } from './with-secrets.ts';

export const limitUsers = ([name = '', users = '']: string[]) =>
  operate(async (db) => {
    if (users !== 'none' && !/^[1-9]\d{0,6}$/.test(users)) {
      throw new Problem('invalid-request', 'Give a name and a number: ./offshoot organization limit acme 50');
    }
    const { id, label } = await organizationNamed(db, name);
    const deed = { command: 'organization limit', kind: 'organization', summary: `Limit the users of the organization: ${users}` };
    await asOperator(db, id, deed, () => setUsersMax(db, id, users === 'none' ? null : Number(users)));
    console.log(`${label} may have ${users === 'none' ? 'as many users as it likes' : users === '1' ? 'one user' : `${users} users`}.`);
  });

export const suspend = ([name = '', reason = '']: string[]) =>
  withSecrets(async (platform) => {
    if (reason.length > reasonCharactersMax || /\p{Cc}/u.test(reason))
      throw new Problem(
        'invalid-request',
        `Give the reason in one line of at most ${reasonCharactersMax} characters: its members read it.`,
      );
    const { id, label } = await organizationNamed(platform.db, name);
    const because = reason.trim() === '' ? '' : `: ${reason.trim()}`;
    const deed = { command: 'organization suspend', kind: 'organization', summary: `Suspend the organization${because}` };
    await asOperator(platform.db, id, deed, () =>
      platform.db.transaction().execute(async (tx) => {
        await nudge(tx, followSuspensions);
        return suspendOrganization(tx, platform, id, reason.trim());
      }),
    );
    console.log(`${label} is suspended: what runs for it is paused, and its members are told by mail.`);
  });

export const resume = ([name = '']: string[]) =>
  withSecrets(async (platform) => {
    const { id, label } = await organizationNamed(platform.db, name);
    const deed = { command: 'organization resume', kind: 'organization', summary: 'Resume the organization' };
    await asOperator(platform.db, id, deed, () =>
      platform.db.transaction().execute(async (tx) => {
        await nudge(tx, followSuspensions);
        return resumeOrganization(tx, platform, id);
      }),
    );
    console.log(`${label} is resumed: what ran before is started again, and its members are told by mail.`);
  });

async function organizationNamed(db: Db, name: string): Promise<Organization> {
  if (name === '') throw new Problem('invalid-request', 'Name an organization: ./offshoot organization suspend acme');
  const organization = await organizationAt(db, `name=${name}`);
  if (!organization) throw new Problem('not-found', `There is no organization ${name}.`);
  return organization;
}
