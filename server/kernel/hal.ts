/**
 * How rows become HAL. All that does not depend on the row is rendered to strings once, with the first request that needs it: serialisers compiled from the schemas
 * (which are thereby an allow-list: a column that is not in the schema cannot leak), link templates, and link `meta`.
 * A link is shown exactly when following it would be let through. A reply about one thing also says, under `_not_now`, why an action that the caller is permitted
 * is not linked: in the words with which the request would be refused.
 */
import fastJson from 'fast-json-stringify';
import type { Caller } from '../platform.ts';
import { isPermitted } from './access.ts';
import { componentName, describeOperation, documentPath, notNowKey, statusOf } from './openapi.ts';
import { Changed, familyOf, hindranceOf, type Entity, type Family, type Operation } from './operation.ts';
import { pageNumber, type Page } from './paging.ts';
import { emptyLeftOut, inMilliseconds } from './schema.ts';
import type { Secrets } from './secrets.ts';

type Presenter = (row: any, caller: Caller | undefined, form: Form) => string;

/** A reply about one thing carries `meta` in full; the rows of a list refer to the OpenAPI document, or a page of them would be megabytes. */
type Form = 'whole' | 'item';

export type Hal = ReturnType<typeof openHal>;

export function openHal(operations: readonly Operation[], secrets: Secrets) {
  const presenters = new Map<Entity, Presenter>();
  const presenterOf = (entity: Entity) => {
    const known = presenters.get(entity) ?? compilePresenter(entity, operations, secrets);
    presenters.set(entity, known);
    return known;
  };
  const presentAll = (entity: Entity, rows: unknown[], caller: Caller | undefined) => {
    const present = presenterOf(entity);
    return `[${rows.map((row) => present(row, caller, 'item')).join()}]`;
  };

  /** Compiles the reply of an operation: from what its handler returned to the text of the body. */
  return function compileReply(operation: Operation): (result: unknown, asked: Asked) => string {
    const { returns, family } = operation;
    const status = statusOf(returns, family);
    const wrap = (body: string, activities: string) => (family === 'project' ? accepted(status, body, activities) : body);
    /** The thing that changed, and what follows from it. */
    const presentChange = (present: Presenter, result: unknown, caller: Caller | undefined) => {
      if (!(result instanceof Changed)) return wrap(present(result, caller, 'whole'), '[]');
      const { row, activities } = result;
      /** A change that the caller may make can start activities that the caller may not see. */
      const visible = activities.rows.filter((each) => isPermitted(activities.of.view, caller, activities.of.scope(each)));
      return wrap(present(row, caller, 'whole'), presentAll(activities.of, visible, caller));
    };
    switch (returns.kind) {
      case 'one': {
        const present = presenterOf(returns.of);
        return (result: unknown, { caller }: Asked) => present(result, caller, 'whole');
      }
      case 'created':
      case 'updated': {
        const present = presenterOf(returns.of);
        return (result: unknown, { caller }: Asked) => presentChange(present, result, caller);
      }
      case 'deleted': {
        if (family === 'account' || !operation.on) return () => '';
        const present = presenterOf(operation.on);
        return (result: unknown, { caller, target }: Asked) => presentChange(present, result ?? target, caller);
      }
      case 'array':
        return (rows: unknown, { caller }: Asked) => presentAll(returns.of, rows as unknown[], caller);
      case 'page': {
        const { of, listing } = returns;
        const isBare = family === 'project' || listing.bare;
        const key = JSON.stringify(listing.key ?? 'items');
        return (result: unknown, { caller, url }: Asked) => {
          const page = result as Page<unknown>;
          const items = presentAll(of, page.rows, caller);
          const count = listing.uncounted ? '' : `"count":${page.count},`;
          return isBare ? items : `{${key}:${items},${count}"_links":${pageLinks(of, page, { url, caller }, secrets)}}`;
        };
      }
      case 'plain':
        return fastJson(jsonSchema(returns.schema)) as (value: unknown) => string;
      case 'stream':
      case 'nothing':
        return () => '';
    }
  };
}

interface Asked {
  caller: Caller | undefined;
  target: unknown;
  url: string;
}

const reasons: Record<number, string> = { 200: 'OK', 201: 'Created' };

const accepted = (code: number, entity: string, activities: string) =>
  `{"status":"${reasons[code]}","code":${code},"_embedded":{"activities":${activities},"entity":${entity}}}`;

/** TypeBox marks its schemas with hidden properties; a plain copy is what compilers expect. */
const jsonSchema = (schema: unknown) => JSON.parse(JSON.stringify(schema)) as object;

function compilePresenter(entity: Entity, operations: readonly Operation[], secrets: Secrets): Presenter {
  const family = familyOf(entity.path);
  const serialise = fastJson(jsonSchema(entity.schema)) as (row: unknown) => string;
  const shown = compileShown(entity, family);
  const self = compileTemplate(entity.path);
  const selfMeta = {
    whole: JSON.stringify(entity.schema),
    item: JSON.stringify({ $ref: `${documentPath}#/components/schemas/${componentName(entity)}` }),
  };
  const actions = operations
    .filter(({ on, rel }) => on === entity && rel !== undefined)
    .map((operation) => ({ ...operation, link: compileLink(operation, family) }));

  return (row, caller, form) => {
    const address = encoded(entity.address(row));
    const scope = entity.scope(row);
    let links = `"self":{"href":"${self(address)}","meta":${selfMeta[form]}}`;
    let reasons = '';
    for (const action of actions) {
      if (!isPermitted(action.permission, caller, scope) || caller?.hindrance(scope, action.permission, action.endpoint) !== undefined)
        continue;
      if (!(action.isFor?.(row, caller) ?? true)) continue;
      if (action.allowedWhen?.(row, caller) ?? true) links += action.link(address, form);
      else if (form === 'whole') reasons += reasonIn(action, row, caller);
    }
    const further = { ...entity.links?.(row, caller), ...(form === 'whole' && referenceLinks(entity, [row], caller, secrets)) };
    for (const [rel, link] of Object.entries(further)) links += `,${JSON.stringify(rel)}:${JSON.stringify(link)}`;
    const notNow = reasons === '' ? '' : `,"${notNowKey}":{${reasons.slice(1)}}`;
    return `${serialise(shown(row)).slice(0, -1)},"_links":{${links}}${notNow}}`;
  };
}

/** Why an action is not linked, as a member of JSON; nothing where it is refused because of who asks, or where it is only something to look at. */
function reasonIn(action: Operation, row: unknown, caller: Caller | undefined): string {
  const hindrance = action.method === 'GET' ? undefined : hindranceOf(action, row, caller);
  const isOfCaller = hindrance?.kind === 'forbidden' || hindrance?.kind === 'not-found';
  return hindrance && !isOfCaller ? `,${JSON.stringify(action.rel)}:${JSON.stringify(hindrance.message)}` : '';
}

/** `/projects/…` is linked as `/api/projects/…`, where it is served too: released clients take the project id from that form. */
export function compileHref(path: string) {
  const fill = compileTemplate(path);
  return (address: Record<string, string>) => fill(encoded(address));
}

const encoded = (address: Record<string, string>) => {
  const parts: Record<string, string> = {};
  for (const name in address) parts[name] = encodeURIComponent(address[name] ?? '');
  return parts;
};

/** Takes an address that is encoded already: a row has one address, and many links with it. */
function compileTemplate(path: string) {
  const [first = '', ...rest] = (familyOf(path) === 'project' ? `/api${path}` : path).split('{');
  const parts = rest.map((part) => part.split('}') as [string, string]);
  return (address: Record<string, string>) => parts.reduce((href, [name, text]) => `${href}${address[name] ?? ''}${text}`, first);
}

function compileLink(operation: Operation, family: Family) {
  const { rel, method, path } = operation;
  const [start, href] = [`,${JSON.stringify(rel)}:{"href":"`, compileTemplate(path)];
  const verb = method.toLowerCase();
  const pointer = path.replaceAll('~', '~0').replaceAll('/', '~1');
  const meta = {
    whole: JSON.stringify({ [verb]: describeOperation(operation) }).replaceAll('"#/components', `"${documentPath}#/components`),
    item: JSON.stringify({ [verb]: { $ref: `${documentPath}#/paths/${pointer}/${verb}` } }),
  };
  const isAction = rel?.startsWith('#') || method !== 'GET';
  const tail = {
    whole: isAction ? (family === 'account' ? `,"method":"${method}"` : `,"meta":${meta.whole}`) : '',
    item: isAction ? (family === 'account' ? `,"method":"${method}"` : `,"meta":${meta.item}`) : '',
  };
  return (address: Record<string, string>, form: Form) => `${start}${href(address)}"${tail[form]}}`;
}

/** The row as it is written: the account family has shorter times than rows carry, and some properties are left out where they are empty. */
function compileShown({ schema }: Entity, family: Family) {
  const properties = Object.entries(schema.properties);
  const named = (holds: (property: object) => boolean) => properties.filter(([, property]) => holds(property)).map(([name]) => name);
  const times = family === 'account' ? named((property) => (property as { format?: string }).format === 'date-time') : [];
  const leftOut = named((property) => emptyLeftOut in property);
  if (times.length + leftOut.length === 0) return (row: unknown) => row;
  return (row: Record<string, unknown>) => {
    const shown = { ...row };
    for (const name of times) {
      const time = shown[name];
      if (typeof time === 'string') shown[name] = inMilliseconds(time);
    }
    // Undefined is left out by the serialiser. Deleting would make the object slow to read.
    for (const name of leftOut) if (shown[name] === '' || shown[name] === null) shown[name] = undefined;
    return shown;
  };
}

const referencedIdsMax = 100;

/** Links to the other pages, and to the things that the rows mention. */
function pageLinks(
  entity: Entity,
  { rows, before, after }: Page<unknown>,
  { url, caller }: Pick<Asked, 'url' | 'caller'>,
  secrets: Secrets,
) {
  const links: Record<string, { href: string }> = { self: { href: url } };
  if (before) links['previous'] = { href: otherPage(url, 'before', before) };
  if (after) links['next'] = { href: otherPage(url, 'after', after) };
  return JSON.stringify({ ...links, ...referenceLinks(entity, rows, caller, secrets) });
}

/** A signed link to each set of things that the rows mention. */
function referenceLinks(entity: Entity, rows: unknown[], caller: Caller | undefined, secrets: Secrets) {
  const links: Record<string, { href: string }> = {};
  if (!caller) return links;
  for (const [set, idOf] of Object.entries(entity.references ?? {})) {
    const ids = [...new Set(rows.map(idOf).filter((id) => id !== undefined))].sort();
    for (let n = 0; n * referencedIdsMax < ids.length; n += 1) {
      const some = ids.slice(n * referencedIdsMax, (n + 1) * referencedIdsMax);
      links[`ref:${set}:${n}`] = { href: signedReference(set, some, caller, secrets) };
    }
  }
  return links;
}

/** The next page or the one before, told by a cursor, or by its number to those who count. */
function otherPage(url: string, direction: 'before' | 'after', cursor: string) {
  const [path = '', query = ''] = url.split('?');
  const parameters = new URLSearchParams(query);
  const counted = parameters.get('page');
  for (const name of ['page[before]', 'page[after]', 'page']) parameters.delete(name);
  if (counted !== null) parameters.set('page', String(pageNumber(counted) + (direction === 'after' ? 1 : -1)));
  else parameters.set(`page[${direction}]`, cursor);
  return `${path}?${parameters.toString()}`;
}

const referencePath = (set: string, ids: string) => `/ref/${set}?in=${ids}`;

/** What is signed: the ids, and who was shown them; for anybody else the link is worth nothing. */
const signedText = (path: string, { id }: { id: string }) => `${id} ${path}`;

/** A link that only the platform can make: its holder was shown these ids, and may read their short form. */
export function signedReference(set: string, ids: readonly string[], holder: { id: string }, secrets: Secrets) {
  const path = referencePath(set, ids.map(encodeURIComponent).join());
  return `${path}&sig=${secrets.sign(signedText(path, holder))}`;
}

export const isSignedReference = (set: string, ids: readonly string[], signature: string, holder: { id: string }, secrets: Secrets) =>
  secrets.isSigned(signedText(referencePath(set, ids.map(encodeURIComponent).join()), holder), signature);
