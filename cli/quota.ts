/** How much of the machine organizations and projects may have. */
import { Problem } from '../server/kernel/problem.ts';
import type { Db } from '../server/kernel/sql.ts';
import {
  allQuotas,
  defaultQuota,
  setDefaultQuota,
  setQuota,
  type Limits,
  type Quota,
  type QuotaOwner,
} from '../server/rooms/deployments/public.ts';
import { asOperator } from '../server/rooms/audit/work.ts';
import { operate } from './database.ts';

const example =
  'Say whose it is and what is allowed: ./offshoot quota set project <id> environments=5 cpu=4 memory=8192 disk=20000, or ' +
  './offshoot quota set default projects=100 environments=500 builds=4 activities=1000 for every organization that has none of its own';
const units: Record<keyof Limits, string> = {
  projects: '',
  environments: '',
  cpu: ' CPU',
  memory: ' MB',
  disk: ' MB',
  builds: ' at once',
  activities: ' waiting',
};
const kinds = Object.keys(units) as (keyof Limits)[];
const ofOrganizations: readonly (keyof Limits)[] = ['projects', 'builds', 'activities'];

export const showChangedQuota = (words: string[]) => operate(async (db) => console.log(await changeQuota(db, words)));

export const listQuotas = () =>
  operate(async (db) => {
    for (const line of await quotaLines(db)) console.log(line);
  });

/** `project <id> <limit>…`, `organization <name> <limit>…` or `default <limit>…`. */
export async function changeQuota(db: Db, words: string[]): Promise<string> {
  if (words[0] === 'default') {
    await setDefaultQuota(db, readLimits(words.slice(1)));
    return defaultLine(await defaultQuota(db));
  }
  const [of = '', name = '', ...rest] = words;
  const limits = readLimits(rest);
  const misplaced = ofOrganizations.find((kind) => of === 'project' && kind in limits);
  if (misplaced !== undefined)
    throw new Problem('invalid-request', `Only an organization has a limit of ${misplaced}; leave it out for a project.`);
  const { organizationId, ...owner } = await ownerOf(db, of, name);
  const summary = `Change the quota of the ${of} ${name}: ${rest.join(' ')}`;
  await asOperator(db, organizationId, { command: 'quota set', kind: 'organization quota', summary }, () => setQuota(db, owner, limits));
  const quota = (await allQuotas(db)).find((each) => each.of === of && each.name === name);
  return quota ? lineOf(quota) : '';
}

export const quotaLines = async (db: Db): Promise<string[]> => [defaultLine(await defaultQuota(db)), ...(await allQuotas(db)).map(lineOf)];

async function ownerOf(db: Db, of: string, name: string): Promise<QuotaOwner & { organizationId: string }> {
  if (of !== 'organization' && of !== 'project') throw new Problem('invalid-request', `${example}.`);
  if (of === 'organization') {
    const found = await db.selectFrom('organizations').select('id').where('name', '=', name).executeTakeFirst();
    if (!found) throw new Problem('not-found', `There is no organization ${name}.`);
    return { organization_id: found.id, project_id: null, organizationId: found.id };
  }
  const found = await db.selectFrom('projects').select('organization_id').where('id', '=', name).executeTakeFirst();
  if (!found) throw new Problem('not-found', `There is no project ${name}.`);
  return { organization_id: null, project_id: name, organizationId: found.organization_id };
}

function readLimits(words: readonly string[]): Partial<Limits> {
  if (words.length === 0) throw new Problem('invalid-request', `${example}.`);
  return Object.assign({}, ...words.map(readLimit)) as Partial<Limits>;
}

/** `memory=4096`, or `memory=none` for as much as there is. */
function readLimit(word: string): Partial<Limits> {
  const [, kind = '', amount = ''] =
    /^(projects|environments|builds|activities|cpu|memory|disk)=(none|\d{1,9}(?:\.\d{1,2})?)$/.exec(word) ?? [];
  const isWhole = kind === 'cpu' || !amount.includes('.');
  const isEnough = (kind !== 'builds' && kind !== 'activities') || amount !== '0';
  if (kind === '' || !isWhole || !isEnough) throw new Problem('invalid-request', `${word} is not a limit. ${example}.`);
  return { [kind]: amount === 'none' ? null : Number(amount) };
}

function lineOf({ of, name, used, ...limits }: Quota): string {
  const parts = kinds
    .filter((kind) => of === 'organization' || !ofOrganizations.includes(kind))
    .map((kind) => {
      if (kind === 'builds') return `builds ${shownLimit(limits, kind)}`;
      const limit = limits[kind] === null ? '' : ` of ${limits[kind]}`;
      return `${kind} ${Math.round(used[kind] * 100) / 100}${limit}${units[kind]}`;
    });
  return `${of} ${name}: ${parts.join(', ')}`;
}

const defaultLine = (limits: Limits) =>
  `default, for each organization that has none of its own: ${kinds.map((kind) => `${kind} ${shownLimit(limits, kind)}`).join(', ')}`;

const shownLimit = (limits: Limits, kind: keyof Limits) => (limits[kind] === null ? 'as there are' : `${limits[kind]}${units[kind]}`);
