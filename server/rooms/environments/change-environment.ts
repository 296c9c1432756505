/** Changing an environment: its place in the tree and its type by the rules, and settings that its containers or the router follow. */
import { Type } from 'typebox';
import { startActivity, type Activity, type ActivityDefinition } from '../../kernel/activity.ts';
import { invalidField, Problem } from '../../kernel/problem.ts';
import type { Changed } from '../../kernel/operation.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { EnvironmentType } from '../../permissions.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorOf, changed, environment as named, person, sentence, type Actor } from '../activities/public.ts';
import { isIP } from 'node:net';
import { updateHttpAccessActivity, updateRobotsActivity, updateSmtpActivity } from './activities.ts';
import { compareWithParents } from './compare-with-parents.ts';
import { typeRule } from './create-environment.ts';
import { environmentById, hasDedicated, isBelow, lockTree, updateEnvironment, type Environment } from './queries.ts';
import { environmentSummary } from './record-push.ts';
import { allowedTypes } from './types.ts';
import { environmentLife } from './life-cycle.ts';

const rulesMax = 200;

/** Makes a schema accept null, too, which clients send to clear a field. */
const orNull = <T>(schema: object) => Type.Unsafe<T | null>({ ...schema, type: [(schema as { type: string }).type, 'null'] });

export const AddressRules = orNull<{ permission: 'allow' | 'deny'; address: string }[]>({
  type: 'array',
  maxItems: rulesMax,
  items: {
    type: 'object',
    required: ['permission', 'address'],
    additionalProperties: false,
    properties: { permission: { type: 'string', enum: ['allow', 'deny'] }, address: { type: 'string', maxLength: 50 } },
  },
});

export const BasicAuth = orNull<Record<string, string>>({
  type: 'object',
  maxProperties: rulesMax,
  propertyNames: { pattern: '^[a-zA-Z0-9_-]{2,100}$' },
  additionalProperties: { type: 'string', minLength: 6, maxLength: 200 },
});

interface Change {
  name?: string;
  title?: string;
  attributes?: Record<string, string>;
  type?: string;
  parent?: string | null;
  clone_parent_on_create?: boolean;
  http_access?: {
    is_enabled?: boolean;
    addresses?: { permission: 'allow' | 'deny'; address: string }[] | null;
    basic_auth?: Record<string, string> | null;
  };
  enable_smtp?: boolean;
  restrict_robots?: boolean;
}

export async function changeEnvironment(
  platform: Platform,
  target: Environment,
  change: Change,
  caller: Caller,
): Promise<Changed<Environment>> {
  const { db, config } = platform;
  const { project_id, organization_id, id } = target;
  if (change.name !== undefined && change.name !== id)
    throw invalidField('name', `must stay ${id}: it is the name of the branch; branch it under another name instead`);
  const access = change.http_access && httpAccessAfter(target, change.http_access);
  const result = await db.transaction().execute(async (tx) => {
    await lockTree(tx, project_id);
    const type = await typeAfter(tx, target, change.type, caller);
    await checkParent(tx, target, change.parent, caller);
    const { title, attributes, parent, clone_parent_on_create, enable_smtp, restrict_robots } = change;
    await updateEnvironment(tx, project_id, id, {
      ...(title !== undefined && { title }),
      ...(attributes !== undefined && { attributes: JSON.stringify(attributes) }),
      ...(type !== undefined && { type }),
      ...(parent !== undefined && { parent }),
      ...(clone_parent_on_create !== undefined && { clone_parent_on_create }),
      ...(access !== undefined && { http_access: JSON.stringify(access) }),
      ...(enable_smtp !== undefined && { enable_smtp }),
      ...(restrict_robots !== undefined && { restrict_robots }),
    });
    const activities = await followUp(tx, target, { ...change, ...(access && { http_access: access }) }, actorOf(caller.user));
    const after = await environmentById(tx, config.domain, project_id, id);
    if (!after) throw new Problem('not-found', 'No such environment.');
    return { after, activities };
  });
  if (change.parent === undefined || change.parent === target.parent) return changed(result.after, organization_id, ...result.activities);
  await compareWithParents(platform, project_id, [id]);
  const compared = await environmentById(db, config.domain, project_id, id);
  return changed(compared ?? result.after, organization_id, ...result.activities);
}

/** Only somebody who administers environments of the new type, too, may change the type, because the type decides who has access. */
async function typeAfter(tx: Tx, target: Environment, wanted: string | undefined, caller: Caller): Promise<EnvironmentType | undefined> {
  if (wanted === undefined || wanted === target.type) return undefined;
  const projectIsDedicated = await hasDedicated(tx, target.project_id);
  const allowed = allowedTypes({ isDefaultBranch: target.is_main, isDedicated: target.is_dedicated, projectIsDedicated });
  const type = allowed.find((each) => each === wanted);
  if (!type) throw invalidField('type', typeRule(allowed));
  if (!caller.can('environment:admin', { project: target.project_id, organization: target.organization_id, environmentType: type }))
    throw new Problem('forbidden', `Only an administrator of ${type} environments can make this one ${type}.`);
  return type;
}

/** A parent that the caller may not see counts as absent: otherwise the caller could read what an environment inherits from it. */
async function checkParent(tx: Tx, { project_id, organization_id, id }: Environment, parent: string | null | undefined, caller: Caller) {
  if (parent === undefined || parent === null) return;
  const found = await tx
    .selectFrom('environments')
    .select('type')
    .where('project_id', '=', project_id)
    .where('id', '=', parent)
    .where('status', 'in', environmentLife.statesThat('branch'))
    .executeTakeFirst();
  const isVisible = (type: string) =>
    caller.can('environment:view', { project: project_id, organization: organization_id, environmentType: type as EnvironmentType });
  if (!found || !isVisible(found.type)) throw invalidField('parent', 'must be the name of an environment of this project, or null');
  if (await isBelow(tx, project_id, parent, id)) throw invalidField('parent', 'must not be the environment itself or one below it');
}

type HttpAccess = {
  is_enabled: boolean;
  addresses: { permission: 'allow' | 'deny'; address: string }[];
  basic_auth: Record<string, string>;
};

function httpAccessAfter(target: Environment, change: NonNullable<Change['http_access']>): HttpAccess {
  const before = target.http_access as HttpAccess;
  return {
    is_enabled: change.is_enabled ?? before.is_enabled,
    addresses:
      change.addresses === undefined
        ? before.addresses
        : (change.addresses ?? []).map((rule, n) => ({ ...rule, address: networkOf(rule.address, n) })),
    basic_auth: change.basic_auth === undefined ? before.basic_auth : (change.basic_auth ?? {}),
  };
}

/** Takes `any`, an address, or a network, and always returns a network. */
function networkOf(address: string, n: number): string {
  if (address === 'any') return '0.0.0.0/0';
  const [host = '', bits] = address.split('/');
  const bitsMax = { 0: -1, 4: 32, 6: 128 }[isIP(host) as 0 | 4 | 6];
  const length = bits === undefined ? bitsMax : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
  if (bitsMax < 0 || length < 0 || length > bitsMax)
    throw invalidField(`http_access.addresses.${n}.address`, 'must be an address or network such as 192.0.2.0/24');
  return `${host}/${length}`;
}

/** Starts one activity for each setting that really changed. */
async function followUp(tx: Tx, before: Environment, change: Change, actor: Actor): Promise<Activity[]> {
  const settings: [keyof Change & keyof Environment, ActivityDefinition, string][] = [
    ['http_access', updateHttpAccessActivity, 'HTTP access'],
    ['enable_smtp', updateSmtpActivity, 'SMTP'],
    ['restrict_robots', updateRobotsActivity, 'robots'],
  ];
  const activities: Activity[] = [];
  for (const [setting, definition, words] of settings) {
    if (change[setting] === undefined || JSON.stringify(change[setting]) === JSON.stringify(before[setting])) continue;
    activities.push(
      await startActivity(tx, definition, {
        project_id: before.project_id,
        environments: [before],
        input: { environment: before.id },
        parameters: { user: actor.id, environment: before.id },
        payload: { user: actor, environment: environmentSummary(before) },
        sentence: sentence`${person(actor)} updated ${{ tag: 'strong', name: words }} settings on environment ${named(before)}`,
      }),
    );
  }
  return activities;
}
