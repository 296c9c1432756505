import { sql, type Insertable } from 'kysely';
import type { Database } from '../../database.ts';
import { paged, type ListRequest, type Page } from '../../kernel/paging.ts';
import { orConflict, type Db, type Tx } from '../../kernel/sql.ts';
import { displayName } from '../users/public.ts';
import { invitationLife, type InvitationState } from './life-cycle.ts';

/** An invitation that expired counts as failed from that moment on; its row is not changed for that. */
const isExpired = sql<boolean>`${invitationLife.sqlPossible('invitations.state', 'expire')} and invitations.expires_at <= now()`;

const invitations = (db: Db | Tx) =>
  db
    .selectFrom((from) =>
      from
        .selectFrom('invitations')
        .innerJoin('users', 'users.id', 'invitations.owner_id')
        .select(['invitations.id', 'organization_id', 'project_id', 'invitations.email', 'permissions', 'owner_id'])
        .select(['invitations.created_at', 'invitations.updated_at', 'token_fingerprint', 'first_name', 'last_name', 'username'])
        .select(
          sql<InvitationState>`case when ${isExpired} then ${invitationLife.sqlAfter('invitations.state', 'expire')} else invitations.state end`.as(
            'state',
          ),
        )
        .select(sql<string | null>`case when ${isExpired} then expires_at else finished_at end`.as('finished_at'))
        .as('invitations'),
    )
    .selectAll();

type Row = Awaited<ReturnType<ReturnType<typeof invitations>['executeTakeFirstOrThrow']>>;

export type Invitation = Row & { owner: { id: string; display_name: string } };
export type ProjectInvitation = Invitation & { project_id: string };

const shown = <T extends Row>(row: T): T & Invitation => ({ ...row, owner: { id: row.owner_id, display_name: displayName(row) } });

export const isOfProject = (invitation: Invitation): invitation is ProjectInvitation => invitation.project_id !== null;

const invitationBy = async (db: Db | Tx, column: 'id' | 'token_fingerprint', value: string): Promise<Invitation | undefined> => {
  const row = await invitations(db).where(column, '=', value).executeTakeFirst();
  return row && shown(row);
};

export const invitationById = (db: Db | Tx, id: string) => invitationBy(db, 'id', id);

/** The invitation that a mailed token belongs to; undefined when it can no longer be accepted. */
export const openInvitation = async (db: Db | Tx, tokenFingerprint: string): Promise<Invitation | undefined> => {
  const invitation = await invitationBy(db, 'token_fingerprint', tokenFingerprint);
  return invitation && invitationLife.possible(invitation.state, 'accept') ? invitation : undefined;
};

export const organizationInvitationsPage = async (db: Db, organizationId: string, list: ListRequest): Promise<Page<Invitation>> => {
  const query = invitations(db).where('organization_id', '=', organizationId).where('project_id', 'is', null);
  const page = await paged(query, withState(list));
  return { ...page, rows: page.rows.map(shown) };
};

export const projectInvitationsPage = async (db: Db, projectId: string, list: ListRequest): Promise<Page<ProjectInvitation>> => {
  const page = await paged(invitations(db).where('project_id', '=', projectId), withState(list));
  return { ...page, rows: page.rows.map(shown).filter(isOfProject) };
};

/** Keeps only invitations that wait to be accepted, unless the caller filters by state. */
function withState(list: ListRequest): ListRequest {
  if (list.filters.some(({ field }) => field === 'state')) return list;
  return {
    ...list,
    filters: [...list.filters, { field: 'state', kind: 'string', operator: 'in', values: invitationLife.statesThat('accept') }],
  };
}

export const insertInvitation = (tx: Tx, invitation: Omit<Insertable<Database['invitations']>, 'expires_at'>, daysValid: number) => {
  const sentence = 'This address is already invited; send force to cancel that invitation and make a new one.';
  const expires_at = sql<string>`now() + make_interval(days => ${daysValid})`;
  return orConflict(
    tx
      .insertInto('invitations')
      .values({ ...invitation, expires_at })
      .returning('id')
      .executeTakeFirstOrThrow(),
    {
      invitations_pending_organization: sentence,
      invitations_pending_project: sentence,
    },
  );
};

export interface Invited {
  organization_id: string;
  project_id: string | null;
  email: string;
}

/** Makes room for a new invitation: closes former ones of the address that expired and, with `force`, also those that did not. */
export const closeFormer = (tx: Tx, { organization_id, project_id, email }: Invited, force: boolean) =>
  tx
    .updateTable('invitations')
    .set({
      state: sql<string>`case when expires_at <= now() then ${invitationLife.sqlAfter('state', 'expire')} else ${invitationLife.sqlAfter('state', 'revoke')} end`,
      finished_at: sql<string>`now()`,
      updated_at: sql<string>`now()`,
    })
    .where('organization_id', '=', organization_id)
    .where('project_id', 'is not distinct from', project_id)
    .where('email', '=', email)
    .where(invitationLife.sqlPossible('state', 'revoke'))
    .$if(!force, (update) => update.where('expires_at', '<=', sql<string>`now()`))
    .execute();

/** Ends an invitation; false when it had already ended. Of two requests at once, one wins. */
export const finishInvitation = async (tx: Db | Tx, id: string, event: 'accept' | 'fail' | 'cancel'): Promise<boolean> => {
  const finished = await tx
    .updateTable('invitations')
    .set({ state: invitationLife.sqlAfter('state', event), finished_at: sql<string>`now()`, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .where(invitationLife.sqlPossible('state', event))
    .returning('id')
    .executeTakeFirst();
  return finished !== undefined;
};

export const memberByEmail = (tx: Tx, organizationId: string, email: string) =>
  tx
    .selectFrom('users')
    .innerJoin('organization_members', 'organization_members.user_id', 'users.id')
    .innerJoin('organizations', 'organizations.id', 'organization_members.organization_id')
    .select(['users.id', sql<boolean>`organizations.owner_id = users.id`.as('owner')])
    .where('organizations.id', '=', organizationId)
    .where('users.email', '=', email)
    .executeTakeFirst();

export const hasAccess = async (tx: Tx, projectId: string, userId: string): Promise<boolean> => {
  const access = await tx
    .selectFrom('user_access')
    .select('user_id')
    .where('project_id', '=', projectId)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return access !== undefined;
};

/** Keeps the project from being deleted until the end of the transaction; false when there is no such project. */
export const holdProject = async (tx: Tx, projectId: string): Promise<boolean> => {
  const project = await tx
    .selectFrom('projects')
    .select('id')
    .where('id', '=', projectId)
    .where('status', '<>', 'deleted')
    .forKeyShare()
    .executeTakeFirst();
  return project !== undefined;
};

/** Adds permissions to those that the person already has in the project. */
export const giveAccess = (tx: Tx, access: Insertable<Database['user_access']>) =>
  tx
    .insertInto('user_access')
    .values(access)
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'user_id']).doUpdateSet({
        permissions: sql<string[]>`array(select distinct unnest(user_access.permissions || excluded.permissions))`,
        updated_at: sql<string>`now()`,
      }),
    )
    .execute();
