/** What projects had of resources over time: written down with each allocation that changes it, and kept when the allocation is metered and gone. Builds and tasks pass, and are not in it. */
import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Allocated, AllocatedKind, Holder } from './allocated.ts';

export const historyDays = 400;

/** By the names that prices have for them. */
const resourcesOf: Partial<Record<AllocatedKind, { cpu?: string; memory?: string; disk: string }>> = {
  app: { cpu: 'cpu_app', memory: 'memory_app', disk: 'storage_app_services' },
  worker: { cpu: 'cpu_app', memory: 'memory_app', disk: 'storage_app_services' },
  service: { cpu: 'cpu_services', memory: 'memory_services', disk: 'storage_app_services' },
  backups: { disk: 'backup_storage' },
};

const megabytesInGigabyte = 1024;
const decimals = 6;

function quantitiesOf(amounts: readonly Allocated[]): Record<string, string> {
  const sums: Record<string, number> = {};
  const add = (resource: string | undefined, amount: number) => {
    if (resource !== undefined) sums[resource] = (sums[resource] ?? 0) + amount;
  };
  for (const { kind, cpu, memory, disk } of amounts) {
    const names = resourcesOf[kind];
    add(names?.cpu, cpu);
    add(names?.memory, memory / megabytesInGigabyte);
    add(names?.disk, disk / megabytesInGigabyte);
  }
  return Object.fromEntries(Object.entries(sums).map(([resource, amount]) => [resource, String(Number(amount.toFixed(decimals)))]));
}

export interface Cause {
  /** The deployment. */
  id: string;
  /** Who deployed. */
  userId: string | null;
}

/** In the transaction of the allocation. What stays as it was is not told again. Whatever else changes what a deployment has, such as sleep, is nobody's doing. */
export async function noteHistory(
  db: Db | Tx,
  { projectId, environment, subject }: Holder,
  amounts: readonly Allocated[],
  at: string,
  cause?: Cause,
): Promise<void> {
  await sql`
    with latest as (
      select distinct on (resource) resource, quantity, event_id from resource_history
      where project_id = ${projectId} and environment = ${environment} and event_type = ${subject} order by resource, id desc),
    given as (select key as resource, value as quantity from jsonb_each_text(${JSON.stringify(quantitiesOf(amounts))}::jsonb))
    insert into resource_history (project_id, environment, event_type, event_id, resource, quantity, user_id, happened_at)
    select ${projectId}, ${environment}, ${subject}, ${cause?.id ?? ''}, resource, coalesce(given.quantity, '0'),
      case when exists (select from latest where event_id = ${cause?.id ?? ''}) then null else ${cause?.userId ?? null}::uuid end, ${at}::timestamptz
    from latest full join given using (resource)
    where coalesce(given.quantity, '0') <> coalesce(latest.quantity, '0') order by resource`.execute(db);
}

/** What something still has stays, however long ago it was given. */
export const forgetHistory = (tx: Tx, before: Date) =>
  sql`
    delete from resource_history as old where happened_at < ${before.toISOString()}::timestamptz - make_interval(days => ${historyDays})
      and (quantity = '0' or exists (
        select from resource_history as later where later.project_id = old.project_id and later.environment = old.environment
          and later.event_type = old.event_type and later.resource = old.resource and later.id > old.id))`.execute(tx);
