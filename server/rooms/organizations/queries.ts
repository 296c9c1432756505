import { sql, type Insertable, type Selectable, type Updateable } from 'kysely';
import type { Database } from '../../database.ts';
import { paged, type ListRequest } from '../../kernel/paging.ts';
import { Problem } from '../../kernel/problem.ts';
import { orProblem, type Db, type Tx } from '../../kernel/sql.ts';
import { invitationLife } from '../invitations/life-cycle.ts';
import { projectPermissions } from '../../permissions.ts';

export type Organization = Selectable<Database['organizations']>;
export type Member = Selectable<Database['organization_members']> & { id: string; owner: boolean; level: string };

const namePrefix = 'name=';

/** Finds an organization by its id, or by `name=` followed by its name. */
export const organizationAt = (db: Db | Tx, address: string): Promise<Organization | undefined> =>
  db
    .selectFrom('organizations')
    .selectAll()
    .where('status', '<>', 'deleted')
    .where(...addressed(address))
    .executeTakeFirst();

const addressed = (address: string): [column: 'id' | 'name', operator: '=', value: string] =>
  address.startsWith(namePrefix) ? ['name', '=', address.slice(namePrefix.length)] : ['id', '=', address];

export const organizationsPage = (db: Db, list: ListRequest) => paged(db.selectFrom('organizations').selectAll(), withStatus(list));

export const organizationsPageOf = (db: Db, userId: string, list: ListRequest) =>
  paged(
    db
      .selectFrom('organizations')
      .selectAll()
      .where('id', 'in', (mine) => mine.selectFrom('organization_members').select('organization_id').where('user_id', '=', userId)),
    withStatus(list),
  );

/** Leaves deleted organizations out, unless the caller filters by status. */
function withStatus(list: ListRequest): ListRequest {
  if (list.filters.some(({ field }) => field === 'status')) return list;
  const present = { field: 'status', kind: 'string' as const, operator: 'in', values: ['active', 'restricted', 'suspended'] };
  return { ...list, filters: [...list.filters, present] };
}

export const ownedCount = async (db: Db | Tx, ownerId: string): Promise<number> => {
  const { count } = await db.selectFrom('organizations').select(counted).where('owner_id', '=', ownerId).executeTakeFirstOrThrow();
  return count;
};

/** Returns undefined when the name is taken, so that the transaction can go on and try another name. */
export const insertOrganization = (tx: Tx, organization: Insertable<Database['organizations']>): Promise<Organization | undefined> =>
  tx
    .insertInto('organizations')
    .values(organization)
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();

export const nameTaken = () =>
  new Problem('conflict', 'This name belongs to another organization; choose another name.', {
    fields: { name: 'belongs to another organization' },
  });

export async function changeOrganization(db: Db, id: string, changes: Updateable<Database['organizations']>): Promise<Organization> {
  const changed = await orProblem(
    db
      .updateTable('organizations')
      .set({ ...changes, updated_at: sql<string>`now()` })
      .where('id', '=', id)
      .$if(changes.billing_profile_id !== undefined, (update) => update.where('billing_profile_id', 'is', null))
      .returningAll()
      .executeTakeFirst(),
    { organizations_name: nameTaken },
  );
  if (changed) return changed;
  if (await organizationAt(db, id)) throw new Problem('conflict', 'This organization already has a billing profile.');
  throw organizationGone();
}

export const organizationGone = () => new Problem('not-found', 'No such organization.');

/** Deletes an organization with all its members, teams and invitations. The foreign key of projects refuses while it owns any, even one made at this moment. */
export const deleteOrganization = (db: Db, id: string): Promise<void> =>
  orProblem(
    db.transaction().execute(async (tx) => {
      await tx.deleteFrom('projects').where('organization_id', '=', id).where('status', '=', 'deleted').execute();
      await tx.deleteFrom('organizations').where('id', '=', id).execute();
    }),
    {
      projects_organization_id_fkey: () =>
        new Problem('invalid-request', 'This organization still owns projects; delete them first, or move them to another organization.'),
    },
  );

/** Take this lock before changing who is in an organization, so that counting its people and letting one in are one step. */
export async function lockOrganization(tx: Tx, id: string): Promise<Organization> {
  const organization = await tx.selectFrom('organizations').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
  if (!organization) throw organizationGone();
  return organization;
}

/** Hands the organization on if `from` still owns it; of two transfers at once, one wins. The former owner stays, as admin. */
export const transferOrganization = (db: Db, id: string, from: string, to: string): Promise<Organization> =>
  orProblem(
    db.transaction().execute(async (tx) => {
      const transferred = await tx
        .updateTable('organizations')
        .set({ owner_id: to, updated_at: sql<string>`now()` })
        .where('id', '=', id)
        .where('owner_id', '=', from)
        .returningAll()
        .executeTakeFirst();
      if (!transferred) throw new Problem('conflict', 'This organization has another owner by now; ask them to transfer it.');
      await setPermissions(tx, id, from, ['admin']);
      return transferred;
    }),
    { organizations_owner_is_member: notAMember, organizations_owner_id_fkey: notAMember },
  );

const notAMember = () =>
  new Problem('invalid-request', 'The new owner must be a member of the organization; add them first.', {
    fields: { user_id: 'must be a member of the organization' },
  });

export const addPermissions = (tx: Tx, organizationId: string, userId: string, permissions: readonly string[]) =>
  tx
    .updateTable('organization_members')
    .set({
      permissions: sql<string[]>`array(select distinct unnest(permissions || ${permissions}::text[]) order by 1)`,
      updated_at: sql<string>`now()`,
    })
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .execute();

const setPermissions = (db: Db | Tx, organizationId: string, userId: string, permissions: string[]) =>
  db
    .updateTable('organization_members')
    .set({ permissions, updated_at: sql<string>`now()` })
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .returning('user_id')
    .executeTakeFirst();

const changing = sql.join(
  projectPermissions.filter((permission) => !permission.endsWith('viewer')),
  sql`, `,
);

const isOwner = sql<boolean>`organization_members.user_id = (select owner_id from organizations where id = organization_members.organization_id)`;

/** A viewer, for billing, can only read: they have no permission beyond these two, and only view projects, by themselves and through their teams. */
const level = sql<string>`case when ${isOwner}
    or not organization_members.permissions <@ array['billing', 'projects:list']
    or exists (select from user_access where user_access.organization_id = organization_members.organization_id
      and user_access.user_id = organization_members.user_id and user_access.permissions && array[${changing}])
    or exists (select from team_members join teams on teams.id = team_members.team_id
      where team_members.organization_id = organization_members.organization_id
      and team_members.user_id = organization_members.user_id and teams.project_permissions && array[${changing}])
  then 'admin' else 'viewer' end`;

const members = (db: Db | Tx) =>
  db
    .selectFrom('organization_members')
    .selectAll()
    .select(['user_id as id', isOwner.as('owner'), level.as('level')]);

export const membersPage = (db: Db, organizationId: string, list: ListRequest) =>
  paged(members(db).where('organization_id', '=', organizationId), list, 'user_id');

export const memberAt = (db: Db | Tx, address: string, userId: string): Promise<Member | undefined> =>
  members(db)
    .where('user_id', '=', userId)
    .where('organization_id', '=', (organization) =>
      organization
        .selectFrom('organizations')
        .select('id')
        .where('status', '<>', 'deleted')
        .where(...addressed(address)),
    )
    .executeTakeFirst();

/** Returns undefined when the person is already a member. */
export const insertMember = (tx: Tx, member: Insertable<Database['organization_members']>) =>
  orProblem(
    tx
      .insertInto('organization_members')
      .values(member)
      .onConflict((conflict) => conflict.doNothing())
      .returning('user_id')
      .executeTakeFirst(),
    {
      organization_members_organization_id_fkey: organizationGone,
      organization_members_user_id_fkey: () => new Problem('not-found', 'No such user.', { fields: { user_id: 'is not a user' } }),
    },
  );

export const noteAcceptance = (tx: Tx, organizationId: string, userId: string) =>
  sql`update organization_members set accepted_at = coalesce(accepted_at, now())
    where organization_id = ${organizationId} and user_id = ${userId}`.execute(tx);

/** Returns undefined when the person is no longer a member, or has become the owner. */
export async function changeMember(db: Db, { organization_id, user_id }: Member, permissions: string[]): Promise<Member | undefined> {
  const changed = await setPermissions(db, organization_id, user_id, permissions);
  return changed && memberAt(db, organization_id, user_id);
}

/**
 * Removes a member. Foreign keys remove what they had through the organization: their access to projects and their places in teams. Pending
 * invitations of the person are revoked, because they could come back by one.
 */
export const removeMember = (db: Db, { organization_id, user_id }: Member) =>
  orProblem(
    db.transaction().execute(async (tx) => {
      await lockOrganization(tx, organization_id);
      await tx.deleteFrom('organization_members').where('organization_id', '=', organization_id).where('user_id', '=', user_id).execute();
      await sql`update invitations set state = ${invitationLife.sqlAfter('invitations.state', 'revoke')}, finished_at = now(), updated_at = now() from users
        where users.id = ${user_id} and invitations.email = users.email and organization_id = ${organization_id} and ${invitationLife.sqlPossible('invitations.state', 'revoke')}`.execute(
        tx,
      );
    }),
    {
      organizations_owner_is_member: () => new Problem('conflict', 'The owner cannot be removed; transfer the organization first.'),
    },
  );

export const membersWithAddress = (db: Db, organizationId: string, userIds: readonly string[]) =>
  db
    .selectFrom('organization_members')
    .innerJoin('users', 'users.id', 'organization_members.user_id')
    .select(['users.id', 'users.email', 'users.mfa_enabled', 'users.deactivated'])
    .where('organization_id', '=', organizationId)
    .where('users.id', 'in', userIds)
    .execute();

export const setMfaEnforcement = (db: Db, id: string, enforce_mfa: boolean) =>
  db.updateTable('organizations').set({ enforce_mfa }).where('id', '=', id).execute();

export const setUsersMax = (db: Db, address: string, users_max: number | null): Promise<Organization | undefined> =>
  db
    .updateTable('organizations')
    .set({ users_max })
    .where(...addressed(address))
    .returningAll()
    .executeTakeFirst();

const counted = sql<number>`count(*)::int`.as('count');

export const memberCount = async (tx: Tx, organizationId: string): Promise<number> =>
  (await tx.selectFrom('organization_members').select(counted).where('organization_id', '=', organizationId).executeTakeFirstOrThrow())
    .count;

/** How many people are invited and not yet members, not counting the one with this address. */
export const invitedCount = async (tx: Tx, organizationId: string, exceptEmail: string): Promise<number> => {
  const { count } = await tx
    .selectFrom('invitations')
    .select(sql<number>`count(distinct email)::int`.as('count'))
    .where('organization_id', '=', organizationId)
    .where(invitationLife.sqlPossible('state', 'accept'))
    .where('expires_at', '>', sql<string>`now()`)
    .where('email', '<>', exceptEmail)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('users')
            .innerJoin('organization_members', 'organization_members.user_id', 'users.id')
            .select('users.id')
            .where('organization_members.organization_id', '=', organizationId)
            .whereRef('users.email', '=', 'invitations.email'),
        ),
      ),
    )
    .executeTakeFirstOrThrow();
  return count;
};
