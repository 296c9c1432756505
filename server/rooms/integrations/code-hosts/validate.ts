/**
 * Whether a code host lets an integration do what it is for, asked of the host itself. What the host refuses is told under the field that has to change. A
 * host that does not answer refuses nothing: it may be away for an hour, so the integration is taken, and the host is asked again (register-webhook.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Verified } from '../../../drivers/code-hosts/code-host.ts';
import { CodeHostFailure, type FailureKind } from '../../../drivers/code-hosts/code-host-failure.ts';
import type { CodeHostSettings } from '../../../drivers/code-hosts/open-code-host.ts';
import { invalidField, Problem } from '../../../kernel/problem.ts';
import type { Platform } from '../../../platform.ts';
import { hookAddress, type Integration } from '../integration.ts';
import type { Values } from '../types/field.ts';
import { codeHostOf, isCodeHost, webhookSecretOf, type AsksHosts } from './code-host-of.ts';
import { repositoryIdOf } from './mirror.ts';
import { isPassing } from './report-outcome.ts';

type Asking = Pick<Integration, 'type' | 'values'>;

/** Which of its fields say who asks, for what, and where. */
const fieldsOfHost: Record<CodeHostSettings['type'], Readonly<Record<Blamed, readonly [string, ...string[]]>>> = {
  bitbucket: { credential: ['app_credentials', 'addon_credentials'], repository: ['repository'], address: ['repository'] },
  bitbucket_server: { credential: ['token', 'username'], repository: ['repository', 'project'], address: ['url'] },
  gitea: { credential: ['token'], repository: ['repository'], address: ['base_url'] },
  github: { credential: ['token', 'app'], repository: ['repository'], address: ['base_url'] },
  gitlab: { credential: ['token'], repository: ['project'], address: ['base_url'] },
};

type Blamed = 'credential' | 'repository' | 'address';

const blamedFor: Record<FailureKind, Blamed> = {
  credential: 'credential',
  permission: 'credential',
  missing: 'repository',
  replaced: 'repository',
  refused: 'repository',
  address: 'address',
  'rate-limited': 'address',
  unavailable: 'address',
  unauthenticated: 'credential',
};

/** Whether the host, the repository there or the credential is another one. */
export const asksOtherwise = (type: string, one: Values, other: Values): boolean =>
  isCodeHost(type) &&
  Object.values(fieldsOfHost[type])
    .flat()
    .some((name) => JSON.stringify(one[name] ?? null) !== JSON.stringify(other[name] ?? null));

/** Whether the repository is another one. */
export const isElsewhere = (type: string, one: Values, other: Values): boolean => {
  if (!isCodeHost(type)) return false;
  const { repository, address } = fieldsOfHost[type];
  return [...repository, ...address].some((name) => (one[name] ?? null) !== (other[name] ?? null));
};

/** What the host told of the integration; nothing where it cannot be asked now. Throws a Problem where the host refuses. */
export async function learnFromHost(platform: AsksHosts, asking: Asking): Promise<Values> {
  if (!isCodeHost(asking.type)) return {};
  try {
    return learnedFrom(asking, await inTime(codeHostOf(platform, asking).verify()));
  } catch (failure) {
    if (isPassing(failure)) return {};
    throw problemOf(asking, failure);
  }
}

/** Of the values that an integration has, those that the host alone knows. */
export const learnedFrom = ({ type }: Asking, { credentialExpiresAt }: Verified): Values =>
  type === 'gitlab' ? { token_expires_at: credentialExpiresAt ?? null } : {};

/** Throws a Problem unless the host answers, lets the repository be read, and takes our webhook, which is registered anew. */
export async function refuseUnfitAtHost(platform: AsksHosts & Pick<Platform, 'db' | 'config'>, integration: Integration): Promise<void> {
  if (!isCodeHost(integration.type)) return;
  try {
    const host = codeHostOf(platform, integration, await repositoryIdOf(platform.db, integration.id));
    await inTime(host.verify());
    await inTime(host.ensureWebhook({ url: hookAddress(platform, integration), secret: webhookSecretOf(integration) }));
  } catch (failure) {
    throw problemOf(integration, failure);
  }
}

/** A person waits for the answer. */
const secondsMax = 20;

async function inTime<T>(asking: Promise<T>): Promise<T> {
  const patience = new AbortController();
  const late = sleep(secondsMax * 1000, undefined, { signal: patience.signal, ref: false }).then(() => {
    throw new CodeHostFailure('unavailable', `The host did not answer within ${secondsMax} seconds.`);
  });
  try {
    return await Promise.race([asking, late]);
  } finally {
    patience.abort();
    late.catch(() => {});
    asking.catch(() => {});
  }
}

/** Anything but a failure of the host is passed on as it is. */
function problemOf({ type, values }: Asking, failure: unknown): unknown {
  if (isCodeHost(type) && failure instanceof CodeHostFailure) return invalidField(blamedField(type, values, failure), told(failure));
  // The driver says what is wrong with a key, and does not know as a part of what it was given.
  if (failure instanceof Problem && failure.fields?.['private_key'] !== undefined)
    return invalidField('app.private_key', failure.fields['private_key']);
  return failure;
}

/** Of several fields that could be meant, the first one that is given. */
function blamedField(type: CodeHostSettings['type'], values: Values, { kind }: CodeHostFailure): string {
  const fields = fieldsOfHost[type][blamedFor[kind]];
  return fields.find((name) => (values[name] ?? null) !== null) ?? fields[0];
}

/** The name of the field stands in front of it. */
const told = ({ message }: CodeHostFailure) => `cannot be used: ${message.replace(/\.$/, '')}`;
