/**
 * The operator suspends an organization, and resumes it. What is recorded here holds at once: from the next request on nothing of it can be changed
 * (server/suspension.ts), and its projects are passed over by whatever looks for active ones. Its environments follow (rooms/environments/follow-suspensions.ts).
 */
import { sql } from 'kysely';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { suspensionSentence } from '../../suspension.ts';
import { recordMail } from '../deliveries/public.ts';
import { lockOrganization, organizationAt, organizationGone, type Organization } from './queries.ts';

type Teller = Pick<Platform, 'config' | 'secrets'>;

export const reasonCharactersMax = 200;

export async function suspendOrganization(tx: Tx, platform: Teller, address: string, reason: string): Promise<Organization> {
  const organization = await locked(tx, address);
  if (organization.status === 'suspended') throw new Problem('conflict', `${organization.label} is suspended already.`);
  const suspended = await changed(tx, organization.id, sql`status = 'suspended', suspended_at = now(), suspension_reason = ${reason}`);
  await alignProjects(tx);
  await tellMembers(tx, platform, suspended, 'is suspended', suspensionSentence({ label: suspended.label, reason }));
  return suspended;
}

export async function resumeOrganization(tx: Tx, platform: Teller, address: string): Promise<Organization> {
  const organization = await locked(tx, address);
  if (organization.status !== 'suspended') throw new Problem('conflict', `${organization.label} is not suspended.`);
  const resumed = await changed(tx, organization.id, sql`status = 'active', suspended_at = null, suspension_reason = ''`);
  await alignProjects(tx);
  const sentence = `The organization ${resumed.label} is no longer suspended. What ran before is started again, and what was paused by hand stays paused.`;
  await tellMembers(tx, platform, resumed, 'is resumed', sentence);
  return resumed;
}

async function locked(tx: Tx, address: string): Promise<Organization> {
  const found = await organizationAt(tx, address);
  if (!found) throw new Problem('not-found', `There is no organization ${address.replace(/^name=/, '')}.`);
  return lockOrganization(tx, found.id);
}

async function changed(tx: Tx, id: string, changes: ReturnType<typeof sql>): Promise<Organization> {
  const { rows } = await sql<Organization>`update organizations set ${changes}, updated_at = now() where id = ${id} returning *`.execute(
    tx,
  );
  const [row] = rows;
  if (!row) throw organizationGone();
  return row;
}

/** Projects are suspended with their organization. One whose creation ends meanwhile becomes active first, so this is done again and again. */
export const alignProjects = (tx: Tx) =>
  sql`update projects set status = case organizations.status when 'suspended' then 'suspended' else 'active' end, updated_at = now()
    from organizations where organizations.id = projects.organization_id
    and ((organizations.status = 'suspended' and projects.status = 'active') or (organizations.status <> 'suspended' and projects.status = 'suspended'))`.execute(
    tx,
  );

export async function isOfSuspended(db: Db | Tx, projectId: string): Promise<boolean> {
  const { rows } = await sql`select from projects join organizations on organizations.id = projects.organization_id
    where projects.id = ${projectId} and organizations.status = 'suspended'`.execute(db);
  return rows.length > 0;
}

async function tellMembers(tx: Tx, platform: Teller, { id, label, name }: Organization, what: string, sentence: string): Promise<void> {
  const { rows } = await sql<{ email: string }>`
    select distinct lower(users.email) as email from organization_members join users on users.id = organization_members.user_id
    where organization_members.organization_id = ${id} and not users.deactivated order by 1`.execute(tx);
  for (const { email } of rows)
    await recordMail(tx, platform, {
      to: email,
      subject: `The organization ${label} ${what}`,
      text: letter(sentence, name, platform.config.url),
    });
}

const letter = (sentence: string, name: string, url: string) => `Hello,

${sentence}

This is about the organization ${name} at ${url}.
`;
