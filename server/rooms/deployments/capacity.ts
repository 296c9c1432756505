/**
 * How much of the machine environments are given, and how much it has to give. Sizes are limits, which most containers are far from most of the
 * time; so more is given out than there is, as the operator says (`OFFSHOOT_OVERCOMMIT`), and nothing beyond that. Processors and memory count for
 * what runs, disks for all that is kept.
 */
import { availableParallelism, totalmem } from 'node:os';
import { sql } from 'kysely';
import type { Config } from '../../config.ts';
import { isStorage } from '../../drivers/images/catalogue.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Machine } from '../../machine.ts';
import type { Platform } from '../../platform.ts';
import type { ProjectModel } from '../builds/room.ts';
import { eachOther, inWords, kinds, names, type Amounts } from './amounts.ts';
import { isWorker, runnablesOf } from './containers.ts';
import type { Subject } from './queries.ts';
import { refuseOverQuota } from './quotas.ts';
import { limitsOf, profileOf } from './sizes.ts';
import type { Sizes } from './stack.ts';

const megabyte = 2 ** 20;
/** Of the logs of an environment. */
const logsMegabytes = 512;

/** All that a deployment of the model in these sizes is given. */
export function amountsOf(model: ProjectModel, sizes: Sizes): Amounts {
  const containers = [
    ...Object.values(model.services)
      .filter(({ type }) => !isStorage(type))
      .map((service) => ({ ...service, given: sizes.services[service.name] })),
    ...runnablesOf({ model }).map((one) => ({ ...one, given: isWorker(one) ? sizes.workers[one.name] : sizes.webapps[one.name] })),
  ];
  const all = containers.flatMap(({ type, container_profile, given }) => {
    if (!given) return [];
    const { cpu, memoryBytes } = limitsOf(profileOf(type, container_profile), given);
    return { cpu: cpu * given.instance_count, memory: (memoryBytes / megabyte) * given.instance_count };
  });
  const disks = Object.values(sizes).flatMap((group) => Object.values(group).map(({ disk }) => disk ?? 0));
  return { cpu: sum(all.map(({ cpu }) => cpu)), memory: sum(all.map(({ memory }) => memory)), disk: sum(disks) + logsMegabytes };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

/** What the machine has. */
export async function amountsThere({ volumes }: Pick<Machine, 'volumes'>): Promise<Amounts> {
  const { bytes } = await volumes.capacity();
  return { cpu: availableParallelism(), memory: totalmem() / megabyte, disk: bytes / megabyte };
}

export async function amountsOfOthers(db: Db | Tx, projectId: string, environmentId: string): Promise<Amounts> {
  const { rows } = await sql<Amounts>`
    select coalesce(sum(cpu), 0)::float as cpu, coalesce(sum(memory), 0)::float as memory, coalesce(sum(disk), 0)::float as disk
    from (${eachOther(projectId, environmentId)}) as each_environment`.execute(db);
  return rows[0] ?? { cpu: 0, memory: 0, disk: 0 };
}

/** Of the environment itself, as far as it has it now. */
async function amountsUntilNow(db: Db | Tx, { project_id, environment_id, status }: Subject): Promise<Amounts> {
  const { rows } = await sql<Amounts>`
    select cpu, memory, disk from deployments
    where project_id = ${project_id} and environment_id = ${environment_id} and status = 'current'`.execute(db);
  const has = rows[0] ?? { cpu: 0, memory: 0, disk: 0 };
  return status === 'active' ? has : { cpu: 0, memory: 0, disk: has.disk };
}

/** While the transaction lasts nobody else is promised anything. */
export const holdCapacity = (tx: Tx) => sql`select pg_advisory_xact_lock(hashtextextended('capacity', 0))`.execute(tx);

/** A Problem says what is full, where the environment is to get more than it has and more than is left: of its quotas, or of the machine. */
export async function refuseOverCapacity(
  db: Db | Tx,
  { config, machine }: Pick<Platform, 'config' | 'machine'>,
  subject: Subject,
  model: ProjectModel,
  sizes: Sizes,
): Promise<void> {
  const there = await amountsThere(await machine());
  const others = await amountsOfOthers(db, subject.project_id, subject.environment_id);
  const [wanted, before] = [amountsOf(model, sizes), await amountsUntilNow(db, subject)];
  await refuseOverQuota(db, subject, wanted, before);
  refuseWhatDoesNotFit({ wanted, before, others, there, overcommit: config.overcommit });
}

export interface Balance {
  wanted: Amounts;
  /** Of the environment itself until now: what does not grow is never refused. */
  before: Amounts;
  others: Amounts;
  there: Amounts;
  overcommit: Config['overcommit'];
}

/** A Problem that names what is full, and what can be done. */
export function refuseWhatDoesNotFit({ wanted, before, others, there, overcommit }: Balance): void {
  const full = kinds.filter((kind) => wanted[kind] > before[kind] && others[kind] + wanted[kind] > there[kind] * overcommit[kind]);
  if (full.length === 0) return;
  const details = full.map((kind) => {
    const limit = `${inWords(kind, there[kind] * overcommit[kind])} can be given out (${overcommit[kind]} times what there is)`;
    return `${names[kind]}: ${inWords(kind, wanted[kind])} are needed, others have ${inWords(kind, others[kind])}, and ${limit}`;
  });
  throw new Problem(
    'conflict',
    `Invalid deployment: This machine is full. ${details.join('; ')}. Choose smaller sizes, or pause or delete environments that nobody needs.`,
  );
}
