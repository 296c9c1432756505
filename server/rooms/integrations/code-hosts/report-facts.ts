/** What is true of an environment now, as far as its code host is to know it. */
import { sql } from 'kysely';
import type { CommitStatus } from '../../../drivers/code-hosts/code-host.ts';
import { compileHref } from '../../../kernel/hal.ts';
import type { Db } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { ActivityEntity } from '../../activities/public.ts';
import { emissionsSoFar } from '../../carbon/public.ts';
import { currentStack, loadDeployment, type Deployment, type Stack } from '../../deployments/public.ts';
import type { EnvironmentState } from '../../environments/life-cycle.ts';
import { environmentById, type Environment } from '../../environments/public.ts';
import { IntegrationEntity, type Integration } from '../integration.ts';
import { commentText, type CommentState, type ContainerFacts } from './report-comment.ts';
import { requestOf, type ReportedRequest } from './report-requests.ts';
import { stateOf, statusOf, unapproved, untold, type Deploying, type ToldStatuses } from './report-statuses.ts';

export interface Report {
  /** What is to be told of commits, the oldest first. */
  statuses: { deploying: Deploying; status: CommitStatus }[];
  /** What the comment of its pull request is to say; undefined where it is of none. */
  comment: { pullRequest: number; text: string; isFirst: boolean } | undefined;
}

/** Activities after which something else runs, or something runs at all. */
const deployingTypes = [
  'environment.activate',
  'environment.branch',
  'environment.deploy',
  'environment.initialize',
  'environment.merge',
  'environment.push',
  'environment.redeploy',
  'environment.resources.update',
  'environment.restore',
  'environment.rollback',
  'environment.synchronize',
  'maintenance.upgrade',
];
/** Those of them that make an environment run which did not. */
const activatingTypes = ['environment.activate', 'environment.branch', 'environment.initialize'];

export async function reportOf(platform: Platform, integration: Integration, name: string, told: ToldStatuses): Promise<Report> {
  const { db, secrets, config } = platform;
  const { project_id: projectId } = integration;
  const request = await requestOf(db, integration, name);
  const there = await environmentById(db, config.domain, projectId, name);
  // What people made here without the host is none of its business.
  const found = there?.is_mirrored ? there : undefined;
  const all = found ? await deployingOf(platform, found, request, told) : [];
  const stack = found && (await currentStack(db, secrets, projectId, name));
  const addresses = stack ? addressesOf(stack) : [];
  const waiting =
    request?.waitsFor === undefined ? [] : [unapproved(request.waitsFor, requestAddress(platform, integration, request.number))];
  const statuses = untold(told, [...all, ...waiting]).map((deploying) => ({ deploying, status: statusOf(name, deploying, addresses[0]) }));
  if (!request) return { statuses, comment: undefined };
  const last = all.at(-1);
  const text = commentText({
    environment: name,
    state: found ? commentState(found, last) : request.waitsFor === undefined ? 'gone' : 'waits-for-approval',
    commit: request.commit ?? found?.head_commit ?? '',
    parent: found?.parent ?? null,
    commitsAhead: found?.commits_ahead ?? null,
    addresses,
    changed: found && stack && (await changedIn(platform, found, stack)),
    containers: found ? containersIn(await loadDeployment(platform, projectId, name, 'current')) : [],
    emissions: found ? await emissionsSoFar(db, projectId, found.machine_name) : 0,
    log: last?.log,
    waitsFor: request.waitsFor,
    approval: request.waitsFor === undefined ? '' : approvalOf(platform, integration, request.number, request.waitsFor),
  });
  return { statuses, comment: { pullRequest: request.number, text, isFirst: found !== undefined || request.waitsFor !== undefined } };
}

const requestHref = compileHref(`${IntegrationEntity.path}/pull-requests/{pullRequestNumber}`);

const requestAddress = ({ config }: Platform, { project_id, id }: Integration, number: number) =>
  config.url + requestHref({ projectId: project_id, integrationId: id, pullRequestNumber: String(number) });

const wholeIdDigits = 40;

/** Who can have a fork's commit built, and how. */
function approvalOf(platform: Platform, integration: Integration, number: number, commit: string): string {
  const address = `${requestAddress(platform, integration, number)}/approve`;
  // Bitbucket tells only how a commit begins.
  const isWhole = commit.length >= wholeIdDigits;
  return `Admins of the project can, once they have read it: \`POST ${address}\` with \`{"commit": "${isWhole ? commit : '…'}"}\`${isWhole ? '' : `, the whole id of the commit that begins with ${commit}`}.`;
}

interface Row {
  id: string;
  state: string;
  result: string | null;
  seconds: number | null;
  head: string | null;
  activates: boolean;
}

const consideredMax = 20;

/** The latest activity for the commit that is at the head, and for each whose host was left with news that were not the last; the oldest first. */
async function deployingOf(
  { db, config }: Platform,
  { project_id, id, head_commit, has_deployment }: Environment,
  request: ReportedRequest | undefined,
  told: ToldStatuses,
): Promise<Deploying[]> {
  const latest = new Map<string, Row>();
  for (const row of await activitiesOn(db, project_id, id)) {
    const head = row.head ?? head_commit;
    if (head !== null && !latest.has(head) && (has_deployment || row.activates)) latest.set(head, row);
  }
  const isOpen = (head: string) => told[head]?.state === 'pending';
  return [...latest]
    .filter(([head, row]) => isOpen(head) || (head === head_commit && (has_deployment || stateOf(row) !== 'success')))
    .map(([head, { id: activity, state, result, seconds }]) => ({
      activity,
      state,
      result,
      seconds,
      head,
      commit: head === head_commit ? (request?.commit ?? head) : (told[head]?.commit ?? head),
      log: config.url + logHref({ projectId: project_id, activityId: activity }),
    }))
    .toReversed();
}

const logHref = compileHref(`${ActivityEntity.path}/log`);

/** The newest first. An activity may work on a parent, too; the environment that it is about is what counts. */
async function activitiesOn(db: Db, projectId: string, environment: string): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select id, state, result, extract(epoch from completed_at - started_at)::float8 as seconds,
      type = any(${activatingTypes}) or coalesce(input ->> 'activate' = 'true', false) as activates,
      coalesce(parameters ->> 'new_commit', (
        select commit_id from deployments
        where deployments.project_id = activities.project_id and environment_id = ${environment} and activity_id = activities.id
        order by number desc limit 1)) as head
    from activities
    where project_id = ${projectId} and type = any(${deployingTypes}) and ${environment} = any(environments)
      and coalesce(input ->> 'environment', input #>> '{code,into}', environments[1]) = ${environment}
    order by created_at desc, id limit ${consideredMax}`.execute(db);
  return rows;
}

const statesOfEnvironments: Readonly<Record<EnvironmentState, CommentState>> = {
  active: 'runs',
  paused: 'paused',
  inactive: 'inactive',
  deleting: 'gone',
};

function commentState({ status }: Environment, last: Deploying | undefined): CommentState {
  const state = last && stateOf(last);
  if (state === 'pending') return 'is-deploying';
  if (state === 'failure') return 'failed';
  return statesOfEnvironments[status];
}

/** That which people are to visit first. Addresses that only lead to others are left out. */
const addressesOf = ({ routes }: Stack): string[] =>
  Object.entries(routes)
    .filter(([, { type }]) => type === 'upstream')
    .toSorted(([, one], [, other]) => Number(other.primary ?? false) - Number(one.primary ?? false))
    .map(([address]) => address);

/** Apps and services that are others than in the parent, as far as both run. */
async function changedIn({ db, secrets }: Platform, { project_id, parent }: Environment, own: Stack): Promise<string[] | undefined> {
  const theirs = parent === null ? undefined : await currentStack(db, secrets, project_id, parent);
  if (!theirs) return undefined;
  const apps = Object.entries(own.slugs).filter(([name, { tree_id }]) => theirs.slugs[name]?.tree_id !== tree_id);
  const services = Object.entries(own.model.services).filter(([name, { type }]) => theirs.model.services[name]?.type !== type);
  return [...apps, ...services].map(([name]) => name).toSorted();
}

interface Container {
  type: string;
  container_profile: keyof Deployment['container_profiles'];
  resources: { profile_size: string | null };
  instance_count: number | null;
  disk: number | null;
}

function containersIn(deployment: Deployment | undefined): ContainerFacts[] {
  if (!deployment) return [];
  const { webapps, workers, services, container_profiles } = deployment;
  const groups: [ContainerFacts['kind'], Record<string, Container>][] = [
    ['app', webapps],
    ['worker', workers],
    ['service', services],
  ];
  return groups.flatMap(([kind, containers]) =>
    Object.entries(containers).flatMap(([name, { type, container_profile, resources, instance_count, disk }]) => {
      const step = container_profiles[container_profile][resources.profile_size ?? ''];
      return step ? [{ name, kind, type, cpu: step.cpu, memory: step.memory, disk, instances: instance_count ?? 1 }] : [];
    }),
  );
}
