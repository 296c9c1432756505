/**
 * Links of resources. What can be done is what a resource links to; what it takes, and what it does in words, is in the link's `meta`. Lists refer to the
 * OpenAPI document instead, as do links of accounts, so the document is looked at when such a link is about to be followed.
 */
import { request } from './request.ts';

export interface Link {
  href: string;
  method?: string;
  meta?: Readonly<Record<string, OperationMeta | { $ref: string }>> | { $ref: string };
}

export interface Resource {
  _links: Readonly<Record<string, Link | readonly Link[]>>;
  /** Why what the person is permitted is not among the links, by the name of the link. */
  _not_now?: Readonly<Record<string, string>>;
}

export interface Schema {
  type?: string | readonly string[];
  enum?: readonly (string | number | null)[];
  default?: unknown;
  description?: string;
  required?: readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  maxLength?: number;
  items?: Schema;
  format?: string;
  contentMediaType?: string;
  additionalProperties?: Schema | boolean;
  /** What a field holds where nobody says anything, and is not written into the body by the API itself. */
  'x-usual'?: unknown;
  title?: string;
  /** The bodies among which a field decides. */
  oneOf?: readonly Schema[];
}

interface OperationMeta {
  summary?: string;
  requestBody?: { content: Record<string, { schema: Schema }> };
}

/** What following a link means. */
export interface Deed {
  method: string;
  href: string;
  summary: string;
  fields: Schema;
}

export function linkOf(resource: Resource | undefined, rel: string): Link | undefined {
  const link = resource?._links[rel];
  return Array.isArray(link) ? (link[0] as Link | undefined) : (link as Link | undefined);
}

/** Why a deed cannot be done just now, in the API's words; undefined where it can be, or is not for this person. */
export const reasonAgainst = (resource: Resource | undefined, rel: string): string | undefined =>
  linkOf(resource, rel) ? undefined : resource?._not_now?.[rel];

export const hrefOf = (resource: Resource | undefined, rel: string): string | undefined => linkOf(resource, rel)?.href;

export async function deedOf(link: Link): Promise<Deed> {
  const method = (link.method ?? Object.keys(link.meta ?? {}).find((name) => verbs.has(name)) ?? 'post').toLowerCase();
  const told = link.meta && method in link.meta ? (link.meta as Record<string, OperationMeta | { $ref: string }>)[method] : undefined;
  const meta = told && !('$ref' in told) ? told : await documented(link, method, told);
  const fields = meta?.requestBody?.content['application/json']?.schema ?? {};
  return { method: method.toUpperCase(), href: link.href, summary: meta?.summary ?? '', fields };
}

const verbs = new Set(['get', 'post', 'put', 'patch', 'delete']);

interface Document {
  paths: Readonly<Record<string, Readonly<Record<string, OperationMeta>>>>;
}

let document: Promise<Document> | undefined;

async function documented(link: Link, method: string, told: { $ref: string } | undefined): Promise<OperationMeta | undefined> {
  document ??= request<Document>('GET', '/openapi.json');
  const { paths } = await document;
  const path = told ? pathIn(told.$ref) : Object.keys(paths).find((each) => matches(each, link.href) && paths[each]?.[method]);
  return path === undefined ? undefined : paths[path]?.[method];
}

/** The path in a reference such as `/openapi.json#/paths/~1users~1{user_id}/get`. */
const pathIn = (reference: string) => reference.split('/').at(-2)?.replaceAll('~1', '/').replaceAll('~0', '~');

function matches(path: string, href: string): boolean {
  const [parts, actual] = [path.split('/'), href.split('?', 1)[0]?.split('/') ?? []];
  return parts.length === actual.length && parts.every((part, n) => part.startsWith('{') || part === actual[n]);
}
