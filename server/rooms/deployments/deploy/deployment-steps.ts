/** The steps of a deployment, in their order. What has nothing to do is no step. */
import { returnToCurrent } from './return-to-current.ts';
import { servicesOf, volumesOf, type WantedVolume } from '../stack/containers.ts';
import { unlessSettled, type OngoingDeployment } from './ongoing-deployment.ts';
import { isScaling, keepsVolumes, leavesStaged, pinAfter, renewsImages, replacesData, restoringOf } from './deploy-request.ts';
import { releaseStaged } from '../../../kernel/activity-queries.ts';
import { claimOf } from './claim-hosts.ts';
import { closingLines, emptyLines, openingLines, unknownDomainLines } from './deployment-log.ts';
import { runHooks, sanitize, appsWith, type HookRun } from './hooks.ts';
import { removeContainers, removeStackContainers, startInstances } from './instances.ts';
import { locationsOf, prepareImages } from '../stack/stack-locations.ts';
import { changedServices } from '../stack/plan.ts';
import { wantedHosts } from '../stack/host-names.ts';
import { isPassing, stackOfVolume } from '../stack/names.ts';
import {
  deployedById,
  makeCurrent,
  noteMaintenance,
  noteOutcome,
  noteScaling,
  noteTakenData,
  pinCommit,
  type LastDeployment,
  type TakenData,
} from '../queries.ts';
import { clusterOf } from '../stack/relationships.ts';
import { scaledDirections } from '../sizes/autoscaled.ts';
import { dropOldAccess, startServices } from './services.ts';
import { fetchFor } from './restoring.ts';
import { serveAgain, serveAsBefore, startEnded, startEndedServices } from './start-ended.ts';
import {
  cloneVolumes,
  forgetBefore,
  keepBefore,
  makeVolumes,
  overwriteVolumes,
  removeFetched,
  removeVolumes,
  resizeVolumes,
  takeIn,
} from './stack-volumes.ts';
import { drainInstances, tellEdge } from './traffic.ts';
import { waitUntilAllRun } from './wait-until-all-run.ts';

type Commands = LastDeployment['commands'];

/** The volumes that a rollback left: the new stack has them, the current one does not, and they exist all the same. */
export async function keptVolumes({ work, machine, current, plan }: OngoingDeployment): Promise<ReadonlySet<string>> {
  const names = plan.volumes.make.map(({ name }) => name);
  if (!current || names.length === 0) return new Set();
  const there = await work.step('find volumes', async () => {
    const found = await Promise.all(names.map(async (name) => ((await machine.volumes.volume(name)) ? [name] : [])));
    return found.flat();
  });
  return new Set(there);
}

/** Fetches the data that will replace the environment's own, while what ran so far still serves. */
export async function fetchData({ work, machine, request, clonings }: OngoingDeployment): Promise<void> {
  const restoring = restoringOf(request);
  if (!restoring || clonings.length === 0) return;
  await work.step(
    'fetch data',
    async (signal) => {
      await fetchFor(machine, restoring, clonings, work.log, signal);
      await machine.volumes.settle();
    },
    () => removeFetched(machine, clonings),
  );
}

/** Tells when data was cloned, where some was. */
export const makeData = (deploying: OngoingDeployment, kept: ReadonlySet<string>): Promise<string | null> =>
  deploying.work.step(
    'make volumes',
    async (signal) => {
      const { work, platform, machine, wanted, current, plan, source, clonings } = deploying;
      for (const line of [...openingLines(deploying), ...emptyLines(deploying, kept)]) work.log(line);
      await prepareImages(work, platform.db, machine, wanted.stack, signal);
      const cloned = current || !source ? [] : clonings;
      const clonedAt = new Date().toISOString();
      if (source && cloned.length > 0) await cloneVolumes(platform, machine, source, cloned);
      await makeVolumes(machine, plan.volumes.make);
      await resizeVolumes(machine, [...plan.volumes.make.filter(({ name }) => kept.has(name)), ...plan.volumes.resize]);
      if (plan.volumes.make.length > 0) await machine.volumes.settle();
      return cloned.length > 0 ? clonedAt : null;
    },
    unlessSettled(deploying, async () => {
      const { machine, plan, current } = deploying;
      const made = plan.volumes.make.map(({ name }) => name).filter((name) => !kept.has(name));
      await removeVolumes(machine, made);
      if (current) await resizeVolumes(machine, larger(volumesOf(current.stack), plan.volumes.resize));
    }),
  );

/** Only limits that were lowered are taken back: data that was written since may need the limits that were raised. */
const larger = (before: readonly WantedVolume[], resized: readonly WantedVolume[]) =>
  before.filter(({ name, bytesMax }) => resized.some((volume) => volume.name === name && volume.bytesMax < bytesMax));

/**
 * Has requests wait from here on, where they have to, and stops what is to be replaced once nothing is under way there. Its undo serves all steps that
 * follow, too: it makes the machine what the current deployment says, whatever was done.
 */
export const closeEnvironment = (deploying: OngoingDeployment): Promise<void> =>
  deploying.work.step(
    'close environment',
    async () => {
      const { machine, wanted, current, plan, isRolling } = deploying;
      if (isRolling || !interrupts(deploying)) return;
      await tellEdge(machine, current ?? wanted, 'holding');
      if (!current) return;
      await drainInstances(machine, clusterOf(current.stack), plan.containers.stop);
      logClosing(deploying);
      await removeContainers(machine, plan.containers.stop);
    },
    unlessSettled(deploying, () => returnToCurrent(deploying)),
  );

const interrupts = ({ plan, wasPaused, request, current }: OngoingDeployment) =>
  plan.interrupts || wasPaused || replacesData(request) || !current;

function logClosing({ work, plan }: OngoingDeployment) {
  const gone = [...plan.instances, ...plan.services].filter(({ action }) => action === 'replace' || action === 'remove');
  for (const { name } of gone) work.log(`  Closing service ${name}`);
}

/** Replaces the data, and tells when. Nothing may have the volumes mounted meanwhile. */
export async function replaceData(deploying: OngoingDeployment): Promise<string | null> {
  const { work, platform, machine, wanted, current, source, clonings, request } = deploying;
  const restoring = restoringOf(request);
  if (!replacesData(request) || !(source ? current : restoring)) return null;
  if (current)
    await work.step('keep data', async () => {
      await removeStackContainers(machine, wanted.stack.id);
      await keepBefore(machine, clonings);
      await machine.volumes.settle();
    });
  return work.step('replace data', async () => {
    const replacedAt = new Date().toISOString();
    work.log(`  Replacing data with that of ${source?.stack.environment.id ?? restoring?.title}`);
    if (source) await overwriteVolumes(platform, machine, source, clonings);
    else await takeIn(machine, clonings);
    await machine.volumes.settle();
    return replacedAt;
  });
}

/** Undefined: the environment goes on with the data that it has. A backup's data is as old as the backup. */
export function takenData({ source, clonings, request }: OngoingDeployment, at: string | null): TakenData | undefined {
  const restoring = restoringOf(request);
  if (clonings.length === 0) return undefined;
  if (restoring) return { from: restoring.stack.environment.id, at: restoring.madeAt };
  return source && { from: source.stack.environment.id, at: at ?? undefined };
}

export const openServices = (deploying: OngoingDeployment): Promise<void> =>
  deploying.work.step('open services', async (signal) => {
    const { machine, wanted, current, plan, clonings, request } = deploying;
    // All services are looked at, but only those whose description differs from what runs are replaced.
    const changed = renewsImages(request) ? new Set(Object.keys(wanted.stack.model.services)) : changedServices(plan);
    const told = clonings.length > 0 ? servicesOf(wanted.stack).map(({ name }) => name) : newlyTold(deploying);
    const locations = await locationsOf(machine, wanted.stack);
    const resized = new Set(plan.containers.resize);
    await startServices(machine, locations, wanted.stack, { changed, told: new Set(told), resized, keeping: current?.stack }, signal);
  });

/** The services whose databases or accounts have changed, and which have to be told. */
const newlyTold = ({ wanted: { stack }, current }: OngoingDeployment): string[] =>
  Object.keys(stack.model.services).filter((name) => toldText(stack, name) !== (current && toldText(current.stack, name)));

const toldText = ({ model, secrets }: OngoingDeployment['wanted']['stack'], name: string) => {
  const { databases, extensions } = model.services[name] ?? {};
  return JSON.stringify([databases, extensions, secrets.accounts[name]]);
};

const hookRun = async ({ work, machine, wanted }: OngoingDeployment, signal: AbortSignal): Promise<HookRun> => ({
  work,
  machine,
  locations: await locationsOf(machine, wanted.stack),
  deployed: wanted,
  signal,
});

export async function sanitizeData(deploying: OngoingDeployment): Promise<void> {
  const { clonings, wanted, request } = deploying;
  const isOwnData = clonings.length === 0 || restoringOf(request)?.isElsewhere === false;
  if (isOwnData || appsWith(wanted, 'sanitize').length === 0) return;
  await deploying.work.step('sanitize data', async (signal) => {
    await startEndedServices(deploying, signal);
    await sanitize(await hookRun(deploying, signal));
  });
}

export const openApplications = (deploying: OngoingDeployment): Promise<void> =>
  deploying.work.step('open applications', async (signal) => {
    const { work, machine, wanted, plan, wasPaused } = deploying;
    const { start, resize } = plan.containers;
    await startEndedServices(deploying, signal);
    for (const { name, action } of plan.instances)
      if (action === 'start' || action === 'replace' || (action === 'keep' && wasPaused))
        work.log(`  Opening application ${name} and its relationships`);
    const locations = await locationsOf(machine, wanted.stack);
    for (const line of unknownDomainLines(locations.addresses)) work.log(line);
    await startInstances(machine, locations, wanted, { fresh: new Set(start), resized: new Set(resize) }, signal);
  });

/** How the hooks ended is stored with the step, so that it is part of the outcome even after a kill. */
async function runKeepingOutcome(deploying: OngoingDeployment, hook: 'deploy' | 'post_deploy', signal: AbortSignal): Promise<Commands> {
  const commands: Commands = [];
  const run = await hookRun(deploying, signal);
  const { work } = deploying;
  const command = (ended: Commands[number]) => {
    commands.push(ended);
    work.command(ended);
  };
  await runHooks({ ...run, work: { log: work.log, command } }, hook);
  return commands;
}

/** After a restore, deploy hooks run even where no app changed, because the data that they work on did. */
export async function runDeployHooks(deploying: OngoingDeployment): Promise<Commands> {
  const { plan, request, wanted } = deploying;
  if (!(plan.isChange || restoringOf(request)) || appsWith(wanted, 'deploy').length === 0) return [];
  return deploying.work.step('run deploy hooks', async (signal) => {
    await startEnded(deploying, signal);
    await serveAsBefore(deploying, signal);
    return runKeepingOutcome(deploying, 'deploy', signal);
  });
}

export const openEnvironment = (deploying: OngoingDeployment): Promise<void> =>
  deploying.work.step('open environment', async (signal) => {
    const { work, machine, wanted } = deploying;
    await startEnded(deploying, signal);
    await waitUntilAllRun(machine, wanted);
    work.log('  Opening environment');
    await tellEdge(machine, wanted, 'open');
  });

/** Makes the deployment current; from here on nothing is taken back. It includes staged changes, unless it repeats an earlier deployment. */
export const settle = (
  { work, wanted: { stack }, current, request }: OngoingDeployment,
  commands: Commands,
  taken: TakenData | undefined,
): Promise<void> =>
  work.record('make current', async (tx) => {
    const [project, environment] = [stack.project.id, stack.environment.id];
    await makeCurrent(tx, stack);
    if (taken) await noteTakenData(tx, project, environment, taken);
    const pin = pinAfter(request);
    if (pin !== undefined) await pinCommit(tx, project, environment, pin);
    if (renewsImages(request)) await noteMaintenance(tx, project, environment);
    if (!leavesStaged(request)) await releaseStaged(tx, project, environment);
    if (isScaling(request)) await noteScaling(tx, project, environment, scaledDirections(current?.stack.sizes, stack.sizes));
    else await noteOutcome(tx, project, environment, outcomeOf(commands));
  });

const outcomeOf = (commands: Commands): LastDeployment => ({ successful: true, reason: null, commands, at: new Date().toISOString() });

/** Removes what nobody needs any more, data last. */
export const cleanUp = (deploying: OngoingDeployment): Promise<void> =>
  deploying.work.step('clean up', async (signal) => {
    const { work, machine, wanted, plan, clonings } = deploying;
    await serveAgain(deploying, signal);
    for (const line of closingLines(deploying)) work.log(line);
    await openTakenOver(deploying);
    await drainInstances(machine, clusterOf(wanted.stack), plan.containers.stop);
    await removeContainers(machine, [...plan.containers.stop, ...plan.containers.drop]);
    if (deploying.current) await dropOldAccess(machine, wanted.stack, newlyTold(deploying));
    if (!keepsVolumes(deploying.request)) await removeVolumes(machine, [...plan.volumes.drop, ...(await leftByRollbacks(deploying))]);
    await forgetBefore(machine, clonings);
  });

/** Tells the edge of hosts that belonged to another environment until this deployment became current. */
async function openTakenOver({ platform: { db, secrets }, machine, wanted }: OngoingDeployment) {
  if (wantedHosts(wanted.stack.routes).every(({ host }) => claimOf(wanted.hosts, host) !== undefined)) return;
  const now = await deployedById(db, secrets, wanted.stack.deployment.id);
  if (now) await tellEdge(machine, now, 'open');
}

/** Volumes that a rollback kept for newer code, now that newer code is deployed and does not use them. */
async function leftByRollbacks({ machine: { volumes }, wanted: { stack } }: OngoingDeployment): Promise<string[]> {
  const wanted = new Set(volumesOf(stack).map(({ name }) => name));
  const names = (await volumes.list()).map(({ name }) => name);
  return names.filter((name) => stackOfVolume(name) === stack.id && !isPassing(name) && !wanted.has(name));
}

export async function runPostDeployHooks(deploying: OngoingDeployment, before: Commands): Promise<void> {
  const { work, platform, wanted, request } = deploying;
  if (isScaling(request) || appsWith(wanted, 'post_deploy').length === 0) return;
  const commands = await work.step('run post_deploy hooks', async (signal) => {
    await serveAgain(deploying, signal);
    return runKeepingOutcome(deploying, 'post_deploy', signal);
  });
  const { project, environment } = wanted.stack;
  await noteOutcome(platform.db, project.id, environment.id, outcomeOf([...before, ...commands]));
}
