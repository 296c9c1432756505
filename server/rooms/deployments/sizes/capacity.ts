/**
 * How much of the machine environments are given, and how much it has to give. Sizes are limits, which most containers are far from most of the
 * time; so more is given out than there is, as the operator says (`OFFSHOOT_OVERCOMMIT`), and nothing beyond that. Processors and memory count for
 * what runs, disks for all that is kept.
 */
import { availableParallelism, totalmem } from 'node:os';
import { sql } from 'kysely';
import type { Config } from '../../../config.ts';
import { isStorage } from '../../../catalogue/catalogue.ts';
import { appLogsBytesMax } from '../../../drivers/logs/log-folders.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import type { ProjectModel } from '../../builds/public.ts';
import type { Allocated, AllocatedKind } from '../../metering/public.ts';
import { eachOther, inWords, kinds, names, type Amounts } from './amounts.ts';
import { sizeGroups } from './chosen-sizes.ts';
import { runnablesOf } from '../stack/containers.ts';
import type { Subject } from '../queries.ts';
import { refuseOverQuota } from './quotas.ts';
import { limitsOf, profileOf } from './sizes.ts';
import type { SizeGroup, Sizes } from '../stack/stack.ts';
import { workersIn } from '../stack/workers.ts';
import { environmentLife } from '../../environments/life-cycle.ts';
import { deploymentLife } from '../life-cycle.ts';

const megabyte = 2 ** 20;
/** The size of the logs of each app and worker, and of visits that led to none of them. */
const logsMegabytes = Math.ceil(appLogsBytesMax / megabyte);
const logFoldersOfEdge = 1;

const kindsOfGroups: Record<SizeGroup, AllocatedKind> = { services: 'service', webapps: 'app', workers: 'worker', tasks: 'task' };

/** What a deployment of the model in these sizes gives to each. What runs no container of its own, such as a task that nobody has started, has only its disk. */
export function allocatedIn(model: ProjectModel, sizes: Sizes): Allocated[] {
  const running = new Map(
    [...Object.values(model.services).filter(({ type }) => !isStorage(type)), ...runnablesOf({ model })].map((one) => [one.name, one]),
  );
  return sizeGroups.flatMap((group) =>
    Object.entries(sizes[group]).map(([service, given]) => {
      const container = running.get(service);
      const { cpu, memoryBytes } = container
        ? limitsOf(profileOf(container.type, container.container_profile), given)
        : { cpu: 0, memoryBytes: 0 };
      const memory = (memoryBytes / megabyte) * given.instance_count;
      return { service, kind: kindsOfGroups[group], cpu: cpu * given.instance_count, memory, disk: given.disk ?? 0 };
    }),
  );
}

/** The total that a deployment of the model in these sizes is given. */
export function amountsOf(model: ProjectModel, sizes: Sizes): Amounts {
  const all = allocatedIn(model, sizes);
  const logFolders = Object.keys(model.applications).length + Object.keys(workersIn(model)).length + logFoldersOfEdge;
  return {
    cpu: sum(all.map(({ cpu }) => cpu)),
    memory: sum(all.map(({ memory }) => memory)),
    disk: sum(all.map(({ disk }) => disk)) + logFolders * logsMegabytes,
  };
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

/** What the environment's own deployment is given, and how much of that it has now: only the disks where the environment is paused or asleep. */
async function amountsOfOwn(db: Db | Tx, { project_id, environment_id }: Address): Promise<{ given: Amounts; has: Amounts }> {
  const { rows } = await sql<Amounts & { runs: boolean }>`
    select cpu, memory, disk, ${environmentLife.sqlPossible('environments.status', 'serve')} and sleeping_since is null as runs
    from deployments join environments on environments.project_id = deployments.project_id and environments.id = deployments.environment_id
    where deployments.project_id = ${project_id} and environment_id = ${environment_id}
      and ${deploymentLife.sqlPossible('deployments.status', 'run')}`.execute(db);
  const { runs, ...given } = rows[0] ?? { runs: false, cpu: 0, memory: 0, disk: 0 };
  return { given, has: runs ? given : { cpu: 0, memory: 0, disk: given.disk } };
}

/** Until the transaction ends, nobody else is promised anything of the machine. */
export const holdCapacity = (tx: Tx) => sql`select pg_advisory_xact_lock(hashtextextended('capacity', 0))`.execute(tx);

type Address = Pick<Subject, 'project_id' | 'environment_id'>;
type Overcommit = Pick<Config, 'overcommit'>;

/** Throws a Problem that says what is full, where the environment is to get more than it has and more than its quotas or the machine have left. */
export async function refuseOverCapacity(
  db: Db | Tx,
  { config, machine }: Pick<Platform, 'config' | 'machine'>,
  subject: Subject,
  model: ProjectModel,
  sizes: Sizes,
): Promise<void> {
  try {
    await refuseMoreThanThereIs(db, config, subject, amountsOf(model, sizes), await amountsThere(await machine()));
  } catch (error) {
    // Clients look for these words in the log of a push.
    throw error instanceof Problem ? new Problem(error.kind, `Invalid deployment: ${error.message}`) : error;
  }
}

/** Like `refuseOverCapacity`, for processes that may not know what the machine has; what the quotas allow is always known. */
export async function refuseMoreThanThereIs(
  db: Db | Tx,
  { overcommit }: Overcommit,
  subject: Subject,
  wanted: Amounts,
  there: Amounts | undefined,
): Promise<void> {
  const { has } = await amountsOfOwn(db, subject);
  await refuseOverQuota(db, subject, wanted, has);
  if (!there) return;
  const others = await amountsOfOthers(db, subject.project_id, subject.environment_id);
  refuseWhatDoesNotFit({ wanted, before: has, others, there, overcommit });
}

/** Like `refuseMoreThanThereIs`, for an environment that is paused or asleep and is to run again as it was deployed. */
export async function refuseToRunAgain(db: Db | Tx, config: Overcommit, subject: Subject, there: Amounts | undefined): Promise<void> {
  await refuseMoreThanThereIs(db, config, subject, (await amountsOfOwn(db, subject)).given, there);
}

export interface Balance {
  wanted: Amounts;
  /** What the environment itself had until now: a change that needs no more than that is never refused. */
  before: Amounts;
  others: Amounts;
  there: Amounts;
  overcommit: Config['overcommit'];
}

/** Throws a Problem that says what is full, and what can be done. */
export function refuseWhatDoesNotFit({ wanted, before, others, there, overcommit }: Balance): void {
  const full = kinds.filter((kind) => wanted[kind] > before[kind] && others[kind] + wanted[kind] > there[kind] * overcommit[kind]);
  if (full.length === 0) return;
  const details = full.map((kind) => {
    const limit = `${inWords(kind, there[kind] * overcommit[kind])} can be given out (${overcommit[kind]} times what there is)`;
    return `${names[kind]}: ${inWords(kind, wanted[kind])} are needed, others have ${inWords(kind, others[kind])}, and ${limit}`;
  });
  throw new Problem(
    'conflict',
    `This machine is full. ${details.join('; ')}. Choose smaller sizes, or pause or delete environments that nobody needs.`,
  );
}
