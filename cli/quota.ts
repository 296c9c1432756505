/** How much of the machine organizations and projects may have. */
import { Problem } from '../server/kernel/problem.ts';
import type { Db } from '../server/kernel/sql.ts';
import { allQuotas, setQuota, type Limits, type Quota, type QuotaOwner } from '../server/rooms/deployments/room.ts';

const example = 'Say whose it is and what is allowed: ./offshoot quota set project <id> environments=5 cpu=4 memory=8192 disk=20000';
const units: Record<keyof Limits, string> = { projects: '', environments: '', cpu: ' CPU', memory: ' MB', disk: ' MB' };

export async function changeQuota(db: Db, [of = '', name = '', ...words]: string[]): Promise<string> {
  if (words.length === 0) throw new Problem('invalid-request', example);
  const limits = Object.assign({}, ...words.map(readLimit)) as Partial<Limits>;
  if (of === 'project' && 'projects' in limits) throw new Problem('invalid-request', 'Of projects only an organization has a number.');
  await setQuota(db, await ownerOf(db, of, name), limits);
  const quota = (await allQuotas(db)).find((each) => each.of === of && each.name === name);
  return quota ? lineOf(quota) : '';
}

export const quotaLines = async (db: Db): Promise<string[]> => (await allQuotas(db)).map(lineOf);

async function ownerOf(db: Db, of: string, name: string): Promise<QuotaOwner> {
  if (of !== 'organization' && of !== 'project') throw new Problem('invalid-request', example);
  const found =
    of === 'organization'
      ? await db.selectFrom('organizations').select('id').where('name', '=', name).executeTakeFirst()
      : await db.selectFrom('projects').select('id').where('id', '=', name).executeTakeFirst();
  if (!found) throw new Problem('not-found', `There is no ${of} ${name}.`);
  return of === 'organization' ? { organization_id: found.id, project_id: null } : { organization_id: null, project_id: found.id };
}

/** `memory=4096`, or `memory=none` for as much as there is. */
function readLimit(word: string): Partial<Limits> {
  const [, kind = '', amount = ''] = /^(projects|environments|cpu|memory|disk)=(none|\d{1,9}(?:\.\d{1,2})?)$/.exec(word) ?? [];
  const isWhole = kind === 'cpu' || !amount.includes('.');
  if (kind === '' || !isWhole) throw new Problem('invalid-request', `${word} is not a limit. ${example}`);
  return { [kind]: amount === 'none' ? null : Number(amount) };
}

function lineOf(quota: Quota): string {
  const kinds = (Object.keys(units) as (keyof Limits)[]).filter((kind) => kind !== 'projects' || quota.of === 'organization');
  const parts = kinds.map((kind) => {
    const limit = quota[kind] === null ? '' : ` of ${quota[kind]}`;
    return `${kind} ${Math.round(quota.used[kind] * 100) / 100}${limit}${units[kind]}`;
  });
  return `${quota.of} ${quota.name}: ${parts.join(', ')}`;
}
