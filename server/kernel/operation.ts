/**
 * An operation of the API, declared once: routing, validation, permission, links, OpenAPI, docs and the sweeping tests are derived from it.
 * The declarations are data; http.ts brings them to life.
 */
import type { Static, TObject, TSchema } from 'typebox';
import type { Caller, Platform, Scope } from '../platform.ts';
import type { Requirement } from './access.ts';
import type { ListRequest, Listing, Page } from './paging.ts';
import { Problem, type ProblemKind } from './problem.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
export type Endpoint = `${Method} /${string}`;

type ParamName<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamName<Rest> : never;

type Named<Path extends string, T> = string extends Path ? Record<string, T> : { [Name in ParamName<Path>]: T };

/** `Params<'GET /projects/{projectId}'>` is `{ projectId: string }`. */
export type Params<Path extends string> = Named<Path, string>;

export interface Link {
  href: string;
}

/** A kind of thing the API speaks of: its shape, its address, whose it is, and how to fetch one. */
export interface Entity<Row = any, Path extends string = string> {
  /** Singular, as in a sentence: «No such API token.» */
  name: string;
  path: Path;
  /** What a path parameter looks like; anything else is answered as absent. */
  params: Named<Path, TSchema>;
  schema: TObject;
  /** Where this row lives: fills the braces of `path`. */
  address(row: Row): Params<Path>;
  /** What it belongs to, which decides the caller's roles. */
  scope(row: Row): Scope;
  /** Whoever lacks this cannot tell the thing from an absent one. */
  view: Requirement;
  /** Links that are no operations of the API, by name: addresses elsewhere. */
  links?(row: Row, caller: Caller | undefined): Record<string, Link | readonly Link[]>;
  /** Other things a row mentions, by set (`users`): a page of rows carries a signed link to each set. */
  references?: Record<string, (row: Row) => string | undefined>;
  load(params: Params<Path>, platform: Platform): Promise<Row | undefined>;
}

export function entity<Schema extends TObject, const Path extends string, Row extends Static<Schema>>(
  declared: Omit<Entity<Row, Path>, 'schema'> & { schema: Schema },
): Entity<Row, Path> {
  return declared;
}

/** The row type of an entity. */
export type RowOf<E> = E extends Entity<infer Row, any> ? Row : never;

/**
 * What a request is answered with. In the project family, `created`, `updated` and `deleted` answer `{status, code, _embedded}`;
 * in the account family the object itself, or 204.
 */
export type Returns =
  | { kind: 'one' | 'created' | 'array'; of: Entity }
  | { kind: 'updated'; of: Entity; unlessSame?: true }
  | { kind: 'page'; of: Entity; listing: Listing }
  | { kind: 'deleted' }
  | { kind: 'stream'; type: string }
  | { kind: 'nothing'; status: 200 | 204 }
  | { kind: 'plain'; status: 200 | 201; schema: TSchema };

export const one = <E extends Entity>(of: E) => ({ kind: 'one' as const, of });
export const created = <E extends Entity>(of: E) => ({ kind: 'created' as const, of });
export const updated = <E extends Entity>(of: E) => ({ kind: 'updated' as const, of });
/** 204 where the handler returns undefined, as there was nothing to change. */
export const updatedUnlessSame = <E extends Entity>(of: E) => ({ kind: 'updated' as const, of, unlessSame: true as const });
export const deleted = { kind: 'deleted' as const };
export const nothing = { kind: 'nothing' as const, status: 204 as const };
/** 200 without a body, where the published API has it so. */
export const emptyOk = { kind: 'nothing' as const, status: 200 as const };
/** A bare array, whole: only for what is bounded by its parent. */
export const array = <E extends Entity>(of: E) => ({ kind: 'array' as const, of });
/** A page of a long list, with cursors, `sort` and `filter[…]`. */
export const page = <E extends Entity, L extends Listing>(of: E, listing: L) => ({ kind: 'page' as const, of, listing });
/** Text or bytes that are sent as they come into being; the handler is told when nobody is there any more to read it. */
export const stream = (type: string) => ({ kind: 'stream' as const, type });
/** A value that is no entity: it has a shape but no address. */
export const plain = <S extends TSchema>(schema: S, status: 200 | 201 = 200) => ({ kind: 'plain' as const, schema, status });

/** A query with rules that no schema can tell, such as one between two parameters. The schema documents it; what was sent is judged by `read`, which throws a Problem. */
export interface JudgedQuery<T = any> {
  documented: TObject;
  /** Takes what follows the question mark. */
  read(text: string): T;
}

/** How a failure is told where clients expect another body than the rest of the family has; undefined: none at all. */
export interface FailureBody {
  schema?: TSchema;
  of(problem: Problem): object | undefined;
}

export type FailureBodies = Partial<Record<ProblemKind, FailureBody>>;

/** Does without the caller's place among the requests that are handled (request-limit.ts) while something else than the database is waited for. */
export type Outside = <T>(wait: () => Promise<T>) => Promise<T>;

/** A request as it came: names of headers in lower case, the body as text, the network address it came from. */
export interface Arrival {
  address: string;
  headers: NodeJS.Dict<string | string[]>;
  body: string;
}

/** A change in a project: the thing as it is now, and the activities that make the rest of it so. */
export class Changed<Row> {
  readonly row: Row;
  readonly activities: { of: Entity; rows: readonly unknown[] };
  constructor(row: Row, activities: Changed<Row>['activities']) {
    this.row = row;
    this.activities = activities;
  }
}

type Result<R extends Returns> = R extends { kind: 'one'; of: Entity<infer Row> }
  ? Row
  : R extends { kind: 'created' | 'updated'; of: Entity<infer Row> }
    ? Row | Changed<Row> | (R extends { unlessSame: true } ? undefined : never)
    : R extends { kind: 'deleted' }
      ? void | Changed<unknown>
      : R extends { kind: 'stream' }
        ? (gone: AbortSignal) => AsyncIterable<string | Uint8Array>
        : R extends { kind: 'array'; of: Entity<infer Row> }
          ? Row[]
          : R extends { kind: 'page'; of: Entity<infer Row> }
            ? Page<Row>
            : R extends { kind: 'plain'; schema: infer S extends TSchema }
              ? Static<S>
              : void;

export interface Declaration<
  E extends Endpoint,
  On extends Entity | undefined,
  Needs extends Requirement,
  Query extends TObject | JudgedQuery | undefined,
  Body extends TSchema | undefined,
  R extends Returns,
> {
  /** One imperative sentence: the heading in the docs. */
  summary: string;
  /** As the caller sends it, so that it can be searched for. */
  endpoint: E;
  /** The entity acted on: loaded, and the caller's roles on it known, before `handle` runs. */
  on?: On;
  /** How to find the target where the path does not carry its address (`/users/me`). */
  find?: (params: Params<E>, caller: Caller, platform: Platform) => Promise<RowOf<On> | undefined>;
  /** The name of the link to this operation on that entity: shown exactly when following it would be let through. */
  rel?: string;
  permission: Needs;
  /** Whether it is for this target and this caller at all, whatever the state and beyond the permission. Where it is not, there is neither a link nor a reason. */
  isFor?: (target: RowOf<On>, caller: Needs extends 'public' ? undefined : Caller) => boolean;
  /** Guards the request (409) and shows the link. Where it does not hold, a reply about the thing says why, in the words of `otherwise` (hal.ts). */
  allowedWhen?: (target: RowOf<On>, caller: Needs extends 'public' ? undefined : Caller) => boolean;
  /** What the 409 says, where «is not in a state that allows this» says too little; or another answer, where clients expect one. */
  otherwise?: string | Problem | ((target: RowOf<On>) => string);
  query?: Query;
  body?: Body;
  /** Whether the request is handed over as it came, for what is signed as a whole. */
  takesArrival?: true;
  /** Of an operation that only asks, though it is no GET: it leaves no record in the audit. */
  changesNothing?: true;
  /** A body that works, for the docs and for the test that tries every operation. */
  example?: Body extends TSchema ? Static<Body> : never;
  returns: R;
  deprecated?: true;
  /** What is answered where the target is absent or invisible, where clients expect something else than 404. */
  absent?: Problem;
  failureBodies?: FailureBodies;
  handle(
    request: {
      caller: Needs extends 'public' ? undefined : Caller;
      params: Params<E>;
      target: RowOf<On>;
      query: Query extends TObject ? Static<Query> : Query extends JudgedQuery<infer Asked> ? Asked : undefined;
      body: Body extends TSchema ? Static<Body> : undefined;
      list: ListRequest;
      /** Only where it is asked for. */
      arrival?: Arrival;
      outside: Outside;
    },
    platform: Platform,
  ): Promise<Result<R>>;
}

/** A declaration as the kernel handles it, the types of its parts forgotten. */
export interface Operation {
  summary: string;
  endpoint: Endpoint;
  on?: Entity;
  find?: (params: any, caller: Caller, platform: Platform) => Promise<unknown>;
  rel?: string;
  permission: Requirement;
  isFor?: (target: any, caller: any) => boolean;
  allowedWhen?: (target: any, caller: any) => boolean;
  otherwise?: string | Problem | ((target: any) => string);
  query?: TObject | JudgedQuery;
  body?: TSchema;
  takesArrival?: true;
  changesNothing?: true;
  example?: unknown;
  returns: Returns;
  deprecated?: true;
  absent?: Problem;
  failureBodies?: FailureBodies;
  handle(request: any, platform: Platform): Promise<unknown>;
  method: Method;
  path: string;
  family: Family;
}

export function operation<
  const E extends Endpoint,
  const Needs extends Requirement,
  R extends Returns,
  On extends Entity | undefined = undefined,
  Query extends TObject | JudgedQuery | undefined = undefined,
  Body extends TSchema | undefined = undefined,
>(declared: Declaration<E, On, Needs, Query, Body, R>): Operation {
  const [method, path] = declared.endpoint.split(' ') as [Method, string];
  return { ...(declared as unknown as Operation), method, path, family: familyOf(path) };
}

/**
 * The API has two families (conventions of the published API): inside a project, and accounts. Their specifications spell path
 * variables differently, which tells them apart also where both live under /projects.
 */
export type Family = 'project' | 'account';

export const familyOf = (path: string): Family => (path.startsWith('/projects/{projectId}') ? 'project' : 'account');

/** What is answered to a caller whom an operation is not for, or in a state that does not allow it; undefined where nothing stands in the way. */
export function hindranceOf(
  { isFor, allowedWhen, otherwise, on }: Operation,
  target: unknown,
  caller: Caller | undefined,
): Problem | undefined {
  if ((isFor?.(target, caller) ?? true) && (allowedWhen?.(target, caller) ?? true)) return undefined;
  if (otherwise instanceof Problem) return otherwise;
  const sentence = typeof otherwise === 'function' ? otherwise(target) : otherwise;
  return new Problem('conflict', sentence ?? `The ${on?.name} is not in a state that allows this.`);
}
