/** What was deployed keeps running, whatever dies; what belongs to nobody goes. */
import { platformCluster } from '../../../../edge/routing/table.ts';
import { forget } from '../../../drivers/edge/told.ts';
import { forEachAtMost } from '../../../kernel/limits.ts';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import { stateOf } from '../../../kernel/state-of.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { clusterAt, keepReaching, keepRunning } from './keep-running.ts';
import { isPassing, stackOfContainer, stackOfVolume } from '../stack/names.ts';
import { hasDeployments, keptStacks, knownStacks, type KnownStack } from './kept-stacks.ts';
import { removeVolumes } from '../deploy/stack-volumes.ts';

/** Several environments are kept at once, because starting takes time and one that does not start must not keep the others waiting. */
const atOnceMax = 4;

export const keepStacksRunning: Reconciler = {
  name: 'keep stacks running',
  everySeconds: 10,
  usesMachine: true,
  run: async (platform, signal) => {
    if (!(await hasDeployments(platform.db))) return;
    const machine = await platform.machine();
    // The machine is looked at before the database: what an activity does in between is seen in the next pass.
    const found = { states: await machine.runtime.list(), listed: await machine.edge.list() };
    const kept = await keptStacks(platform.db);
    await forEachAtMost(atOnceMax, kept, (stack) => keepRunning(platform, machine, stack, found), signal);
    const clusters = new Set([...(machine.tls ? [platformCluster] : []), ...kept.map(clusterAt)]);
    for (const cluster of Object.keys(found.listed)) if (!clusters.has(cluster)) await forget(machine.edge, cluster);
  },
};

export const keepDomainsReached: Reconciler = {
  name: 'keep domains of firewalls reached',
  everySeconds: 300,
  usesMachine: true,
  run: async (platform, signal) => {
    if (!(await hasDeployments(platform.db))) return;
    const machine = await platform.machine();
    const kept = await keptStacks(platform.db);
    await forEachAtMost(atOnceMax, kept, (stack) => keepReaching(platform, machine, stack), signal);
  },
};

/** The machine is listed before the database is asked, so that the database already knows whose everything in the list is. */
export const collectStacks: Reconciler = {
  name: 'collect stacks',
  everySeconds: 60,
  usesMachine: true,
  run: async (platform) => {
    if (!(await hasDeployments(platform.db))) return;
    const machine = await platform.machine();
    const interrupted = await machine.volumes.removeInterrupted();
    if (interrupted.length > 0) platform.log.info({ entries: interrupted }, 'incomplete volumes that killed processes left are removed');
    const [containers, volumes] = await Promise.all([machine.runtime.list(), machine.volumes.list()]);
    const known = await knownStacks(platform.db);
    for (const { name, network } of containers) {
      const stack = stackOfContainer(name);
      if (stack !== undefined && stack === network && !known.get(stack)?.is_claimed) await removeContainer(platform, machine, name);
    }
    await collectVolumes(
      platform,
      machine,
      volumes.map(({ name }) => name),
      known,
    );
  },
};

/** Keeps volumes that share data with clones to their sizes, by measuring them. */
export const keepVolumeLimits: Reconciler = {
  name: 'keep limits of volumes',
  everySeconds: 5,
  usesMachine: true,
  run: async (platform) => {
    if (!(await hasDeployments(platform.db))) return;
    await (await platform.machine()).volumes.keepLimits();
  },
};

async function removeContainer({ log }: Platform, { runtime }: Machine, name: string) {
  log.warn({ container: name }, 'a container that belongs to no environment is removed');
  await runtime
    .remove(name)
    .catch((error: unknown) => log.warn({ container: name, error }, 'a container could not be removed; trying again later'));
}

/** Volumes that were already reported; each process reports a volume once. */
const doubtfulOn = stateOf<Machine, Set<string>>(() => new Set());

/** Removes a volume only where the database knows its stack and says that nobody has the stack any more. A stack that the database does not know may be the database's own mistake. */
async function collectVolumes({ log }: Platform, machine: Machine, names: readonly string[], known: ReadonlyMap<string, KnownStack>) {
  const doubtful = doubtfulOn(machine);
  for (const name of names) {
    const stack = stackOfVolume(name);
    if (stack === undefined) continue;
    const about = known.get(stack);
    if (!about) {
      if (!doubtful.has(name))
        log.warn({ volume: name }, 'a volume belongs to no environment that is known; it is kept, remove it by hand if it is not needed');
      doubtful.add(name);
    } else if (!about.is_claimed || (isPassing(name) && !about.is_busy)) {
      log.warn({ volume: name }, 'a volume that nobody needs any more is removed');
      await removeVolumes(machine, [name]);
    }
  }
}
