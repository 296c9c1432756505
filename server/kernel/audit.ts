/**
 * Who did what. Every operation that changes something leaves one record when it succeeds: in the transaction of the change where it has one, otherwise
 * before it is answered. Whatever begins an activity in a person's name without the API, such as a push, leaves one with the activity. A record says
 * which operation, by whom, on what and from where; never what was sent. What is refused leaves none, and reading costs nothing.
 */
import { sql, type CompiledQuery } from 'kysely';
import type { Caller, Platform, Scope } from '../platform.ts';
import { accompanied, companion, type Companion } from './before-commit.ts';
import { compileHref } from './hal.ts';
import { ulid } from './id.ts';
import type { Entity, Operation } from './operation.ts';
import { Changed } from './operation.ts';
import { isUuid } from './schema.ts';
import type { Db, Tx } from './sql.ts';

export interface Deed {
  user_id: string;
  operation: string;
  kind: string;
  summary: string;
  target: string;
  scope: Scope;
  activity_id?: string | undefined;
  address: string;
}

/** For what people do on pages that are no operations: part of the transaction of what was done. */
export async function recordDeed(tx: Tx, deed: Omit<Deed, 'address'>): Promise<void> {
  await insertion(ulid(), { ...deed, address: '' }).execute(tx);
}

/** For what is done outside of the API: a record for each place that it concerns, with the first transaction of the work that commits. */
export async function recorded<T>(db: Db, deeds: readonly Omit<Deed, 'address'>[], work: () => Promise<T>): Promise<T> {
  const rows = deeds.map(({ scope, ...deed }) => ({ id: ulid(), ...deed, ...scope }));
  const insert = sql`
    insert into audit (id, user_id, operation, kind, summary, target, organization_id, project_id, address)
    select id, user_id, operation, kind, summary, target, organization, project, ''
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as deed (id text, user_id uuid, operation text, kind text, summary text, target text, organization text, project text)`;
  const record: Companion = { statement: () => insert.compile(db), isWritten: false };
  const result = await accompanied(record, work);
  if (!record.isWritten) await insert.execute(db);
  return result;
}

/** For an operation whose address names none of what it changes: a record for each of them, so that every organization sees its own. */
export async function recordEach(tx: Tx, places: readonly Pick<Deed, 'kind' | 'target' | 'scope'>[]): Promise<void> {
  const under = companion();
  if (!(under instanceof Recording)) return;
  for (const place of places) await insertion(ulid(), { ...under.deed, ...place }).execute(tx);
}

const insertion = (id: string, { user_id, operation, kind, summary, target, scope, activity_id, address }: Deed) => sql`
  insert into audit (id, user_id, operation, kind, summary, target, subject_id, organization_id, project_id, activity_id, address)
  values (${id}, ${user_id}, ${operation}, ${kind}, ${summary}, ${target}, ${scope.user ?? null},
    coalesce(${scope.organization ?? null}::text, (select organization_id from projects where projects.id = ${scope.project ?? null})),
    ${scope.project ?? null}, ${activity_id ?? null}, ${address})`;

interface Asked {
  name: string;
  operation: Operation;
  caller: Caller;
  target: unknown;
  request: { url: string; ip: string };
}

/** Does the work of an operation that changes something, and records it. */
export async function audited(asked: Asked, { db }: Pick<Platform, 'db'>, work: () => Promise<unknown>): Promise<unknown> {
  const record = new Recording(db, deedOf(asked));
  const result = await accompanied(record, work);
  await record.complete(ofResult(asked.operation, result));
  return result;
}

class Recording implements Companion {
  readonly #id = ulid();
  readonly #db: Db;
  deed: Deed;
  isWritten = false;

  constructor(db: Db, deed: Deed) {
    this.#db = db;
    this.deed = deed;
  }

  statement(): CompiledQuery {
    return insertion(this.#id, this.deed).compile(this.#db);
  }

  /** What an operation makes is known only when it is made. */
  async complete(made: Pick<Deed, 'kind' | 'target' | 'scope'> | undefined) {
    const deed = made ? { ...this.deed, ...made, scope: { ...this.deed.scope, ...made.scope } } : this.deed;
    if (!this.isWritten) await insertion(this.#id, deed).execute(this.#db);
    else if (made)
      await sql`update audit set kind = ${deed.kind}, target = ${deed.target}, subject_id = ${deed.scope.user ?? null},
        organization_id = coalesce(organization_id, ${deed.scope.organization ?? null}), project_id = coalesce(project_id, ${deed.scope.project ?? null})
        where id = ${this.#id}`.execute(this.#db);
  }
}

function deedOf({ name, operation, caller, target, request }: Asked): Deed {
  const { on, summary } = operation;
  const addressed = on
    ? placeOf(on, target)
    : { kind: operation.path.split('/')[1] ?? '', target: request.url.split('?', 1)[0] ?? '', scope: {} };
  return { user_id: caller.id, operation: name, summary, address: request.ip, ...addressed };
}

function ofResult({ returns }: Operation, result: unknown) {
  return returns.kind === 'created' ? placeOf(returns.of, result instanceof Changed ? result.row : result) : undefined;
}

const placeOf = (entity: Entity, row: unknown) => ({
  kind: entity.name,
  target: compileHref(entity.path)(entity.address(row)),
  scope: entity.scope(row),
});

interface Begun {
  id: string;
  project_id: string;
  type: string;
  payload: Record<string, unknown>;
  text: string | undefined;
}

/** An activity begins: what an operation does is told in the words of its activity; what begins otherwise, in a person's name, is a deed of its own. */
export async function recordBeginning(tx: Tx, { id, project_id, type, payload, text }: Begun): Promise<void> {
  const under = companion();
  if (under instanceof Recording) {
    under.deed = {
      ...under.deed,
      activity_id: under.deed.activity_id ?? id,
      summary: under.deed.activity_id ? under.deed.summary : plain(text, under.deed.summary),
    };
    return;
  }
  const person = (payload['user'] as { id?: unknown } | undefined)?.id;
  if (typeof person !== 'string' || !isUuid(person)) return;
  const target = `/api/projects/${project_id}/activities/${id}`;
  const kind = type.split('.', 1)[0] ?? type;
  const deed = {
    user_id: person,
    operation: type,
    kind,
    summary: plain(text, type),
    target,
    scope: { project: project_id },
    activity_id: id,
  };
  await recordDeed(tx, deed);
}

/** Sentences of activities mark what stands out. */
const plain = (text: string | undefined, otherwise: string) => text?.replaceAll('**', '') ?? otherwise;
