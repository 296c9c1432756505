/** What a webhook is sent: the whole activity, as it is read from the API, and a signature by which the receiver knows who sent it. */
import { createHmac } from 'node:crypto';
import { compileHref } from '../../../kernel/hal.ts';
import { ActivityEntity, type ListedActivity } from '../../activities/public.ts';

export interface DeliveryRequest {
  method: 'POST';
  url: string;
  headers: Record<string, string>;
  body: string;
}

export interface Webhook {
  url: string;
  shared_key: string | null;
}

export function webhookRequest({ url, shared_key }: Webhook, body: string): DeliveryRequest {
  const signature = shared_key === null ? {} : { 'x-jws-signature': detachedSignature(shared_key, body) };
  return { method: 'POST', url, headers: { 'content-type': 'application/json', ...signature }, body };
}

const fields = Object.keys(ActivityEntity.schema.properties);
const [selfHref, logHref] = [compileHref(ActivityEntity.path), compileHref(`${ActivityEntity.path}/log`)];

/** Receivers know no address that links could be relative to, so these are whole. */
export function activityBody(activity: ListedActivity, platformUrl: string): string {
  const address = ActivityEntity.address(activity);
  const row: Record<string, unknown> = { ...activity };
  const links = { self: { href: `${platformUrl}${selfHref(address)}` }, log: { href: `${platformUrl}${logHref(address)}` } };
  return JSON.stringify({ ...Object.fromEntries(fields.map((name) => [name, row[name]])), _links: links });
}

const protectedHeader = Buffer.from('{"alg":"HS256","b64":false,"crit":["b64"]}').toString('base64url');

/** A JSON Web Signature by RFC 7797: the body is signed as it is, and is not part of the signature's text. */
const detachedSignature = (key: string, body: string): string =>
  `${protectedHeader}..${createHmac('sha256', key).update(`${protectedHeader}.${body}`).digest('base64url')}`;
