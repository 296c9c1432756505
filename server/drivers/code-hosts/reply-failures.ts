/** What replies that are no success mean, in words for people. */
import { storableText } from '../../kernel/storable.ts';
import { OutboundFault, type FaultReason } from '../outbound/faults.ts';
import type { Answer } from './code-host.ts';
import { CodeHostFailure, type FailureKind } from './code-host-failure.ts';
import { withoutSecrets } from '../outbound/secrets-in-text.ts';

interface About {
  host: string;
  repository: string;
  credential: { secrets(): readonly string[] };
}

interface Meaning {
  kind: FailureKind;
  says: (about: About) => string;
}

const credential: Meaning = {
  kind: 'credential',
  says: ({ host }) => `${host} does not accept the credential: it is wrong, expired or revoked. Give a new one.`,
};
const permission: Meaning = {
  kind: 'permission',
  says: ({ host, repository }) => `${host} does not let this credential do that in ${repository}. Give it the rights that it lacks.`,
};
const missing: Meaning = {
  kind: 'missing',
  says: ({ host, repository }) => `${host} has no ${repository} for this credential. Check the name, and that the credential may see it.`,
};
const refused: Meaning = { kind: 'refused', says: ({ host, repository }) => `${host} refused a request about ${repository}.` };
const unavailable: Meaning = { kind: 'unavailable', says: ({ host }) => `${host} has trouble of its own; it is asked again later.` };

const meanings: Readonly<Record<number, Meaning>> = { 401: credential, 403: permission, 451: permission, 404: missing, 410: missing };

export function failureOf({ status, body }: Answer, about: About): CodeHostFailure {
  const { kind, says } = meanings[status] ?? (status >= 500 ? unavailable : refused);
  // Shortened last: half of a secret would not be found any more.
  const said = shorten(withoutSecrets(messageIn(body), about.credential.secrets()));
  return new CodeHostFailure(kind, said === '' ? says(about) : `${says(about)} ${about.host} said: ${said}`, { status });
}

/** Reasons of the guard that asking again does not mend. */
const isForGood: ReadonlySet<FaultReason> = new Set(['forbidden', 'malformed']);

/** The cause may quote the request, with its headers; only its message is kept, without secrets. */
export function unreachable(cause: unknown, { host, credential: { secrets } }: About): CodeHostFailure {
  const kind = cause instanceof OutboundFault && isForGood.has(cause.reason) ? 'address' : 'unavailable';
  const reason = withoutSecrets(cause instanceof Error ? cause.message : String(cause), secrets());
  return new CodeHostFailure(kind, `${host} cannot be reached: ${reason.replace(/\.$/, '')}.`);
}

const messageCharactersMax = 300;
const shorten = (text: string) => storableText(text.length > messageCharactersMax ? `${text.slice(0, messageCharactersMax)}…` : text);

/** Each host has a place of its own for what it says. Pages of HTML are not quoted. */
function messageIn(body: Buffer): string {
  const said = jsonIn(body) as Said | null | undefined;
  const message = said?.errors?.[0]?.message ?? said?.message ?? said?.error_description ?? said?.error;
  if (message === undefined || message === null) return '';
  const text = typeof message === 'object' && 'message' in message ? message.message : message;
  return typeof text === 'string' ? text.trim() : JSON.stringify(text);
}

/** Undefined where it is none. */
export function jsonIn(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

interface Said {
  errors?: { message?: unknown }[];
  message?: unknown;
  error_description?: unknown;
  error?: unknown;
}
