import { sql } from 'kysely';
import { paged, type ListRequest } from '../../kernel/paging.ts';
import type { Db } from '../../kernel/sql.ts';
import { organizationAt } from '../organizations/public.ts';

export interface AuditRecord {
  id: string;
  organization_id: string;
  created_at: string;
  user_id: string;
  user: { id: string; display_name: string };
  operation: string;
  kind: string;
  summary: string;
  target: string;
  subject: { id: string; display_name: string } | null;
  project_id: string | null;
  activity_id: string | null;
  address: string;
}

/** Kinds of what people change of their own accounts that concern whoever answers for the organization: how they sign in. */
const accountKinds = ['user', 'profile', 'API token', 'SSH key', 'sign-in', 'second factor', 'connection'];

/** Whoever has the machine, and needs no account. */
export const operatorAtMachine = { id: '00000000-0000-0000-0000-000000000000', display_name: 'The operator at the machine' };

/** A person as they are called now; somebody who is gone is known by their id. */
const person = (alias: 'actor' | 'concerned', id: 'user_id' | 'subject_id') => sql`case when audit.${sql.ref(id)} is null then null else
  json_build_object('id', audit.${sql.ref(id)}, 'display_name',
    coalesce(case audit.${sql.ref(id)} when ${operatorAtMachine.id} then ${operatorAtMachine.display_name}::text end, nullif(trim(${sql.ref(`${alias}.first_name`)} || ' ' || ${sql.ref(`${alias}.last_name`)}), ''), ${sql.ref(`${alias}.username`)}, audit.${sql.ref(id)}::text)) end`;

/**
 * What was done in an organization, and by its members to how they sign in, since they came of their own will: anybody can be added by others, unasked, and is not
 * watched for that. From where they did the latter is their own matter.
 */
const recordsOf = (db: Db, organizationId: string) =>
  db
    .selectFrom(
      sql<AuditRecord>`(select audit.id, ${organizationId}::text as organization_id, audit.created_at, audit.user_id, ${person('actor', 'user_id')} as "user",
          audit.operation, audit.kind, audit.summary, audit.target, ${person('concerned', 'subject_id')} as subject, audit.project_id, audit.activity_id,
          case when audit.organization_id is null then '' else audit.address end as address
        from audit left join users as actor on actor.id = audit.user_id left join users as concerned on concerned.id = audit.subject_id
        where audit.organization_id = ${organizationId}
          or (audit.organization_id is null and audit.kind = any(${accountKinds}::text[]) and exists (
            select from organization_members as member where member.organization_id = ${organizationId}
              and member.user_id = audit.subject_id and member.accepted_at <= audit.created_at)))`.as('records'),
    )
    .selectAll();

export const auditPage = (db: Db, organizationId: string, list: ListRequest) => paged(recordsOf(db, organizationId), list);

export async function auditRecordOf(db: Db, address: string, id: string): Promise<AuditRecord | undefined> {
  const organization = await organizationAt(db, address);
  return organization && recordsOf(db, organization.id).where('id', '=', id).executeTakeFirst();
}

/** How many were removed. */
export async function removeOldest(db: Db, keptDays: number, atOnceMax: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from audit where id in (select id from audit where created_at < now() - make_interval(days => ${keptDays}) order by created_at limit ${atOnceMax})`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}
