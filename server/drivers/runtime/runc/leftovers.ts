/** What is on the machine under our names and should not be: found by looking at the machine, not by what anybody remembers to have made. */
import { readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { mountPoints } from '../../mounts.ts';
import { cgroupsIn, removeCgroup } from './cgroups.ts';
import { readDescription } from './description.ts';
import { type Machine, clearContainer } from './lifecycle.ts';
import { readAttachment, removeUnusedNetworks, slotsInUse, writeFirewall } from './networks.ts';
import {
  type RuntimeFolders,
  bridgeOf,
  bridgePrefix,
  bundleOf,
  cgroupParentOf,
  durableOf,
  earlierNetnsFolder,
  earlierNetnsPrefix,
  entriesOf,
  scratchPrefix,
  vethOf,
  vethPrefix,
} from './runtime-folders.ts';
import { removeEach } from './remove-each.ts';
import { commandOf, signalProcess } from './processes.ts';
import { stateOf } from './state.ts';

/** Answers what was removed, in words. What could not be removed is thrown at the end, after all else was removed. */
export async function removeLeftovers(machine: Machine, keep: ReadonlySet<string>): Promise<string[]> {
  const { folders, programs } = machine;
  const removed: string[] = [];
  const remove = async (work: () => Promise<string[]> | string[]) => void removed.push(...(await work()));
  await removeEach('all that should not be there', [
    ...[...(await namesFound(machine))].map((name) => [() => remove(() => removeLeftContainer(machine, name, keep))]),
    [() => remove(() => removeUnusedNetworks(folders, programs))],
    [() => remove(() => removeLinks(machine))],
    [() => remove(() => removeMounts(machine))],
    [() => remove(() => endMonitors(folders))],
    [() => writeFirewall(folders, programs)],
    [() => removeCgroup(cgroupParentOf(folders))],
  ]);
  return removed;
}

async function removeLeftContainer(machine: Machine, name: string, keep: ReadonlySet<string>): Promise<string[]> {
  const { folders } = machine;
  const isKept = keep.has(name) && readDescription(folders, name) !== undefined;
  if (isKept && isWhole(folders, name)) return [];
  await machine.queues.run(name, async () => {
    await clearContainer(machine, name, undefined);
    if (!isKept) await machine.outputs.end(name);
    if (!isKept) rmSync(durableOf(folders, name), { recursive: true, force: true });
  });
  return [isKept ? `what an interrupted start left of ${name}` : `container ${name}`];
}

/** Whether the container runs, is about to run again, or has left nothing on the machine. */
function isWhole(folders: RuntimeFolders, name: string): boolean {
  const { status } = stateOf(folders, name);
  return ['running', 'paused', 'restarting'].includes(status) || !entriesOf(folders.runContainers).includes(name);
}

async function namesFound({ folders, volumes }: Machine): Promise<Set<string>> {
  const afterPrefix = (names: string[], prefix: string) =>
    names.flatMap((name) => (name.startsWith(prefix) ? name.slice(prefix.length) : []));
  const scratch = (await volumes.list()).map(({ name }) => name);
  return new Set([
    ...entriesOf(folders.containers),
    ...entriesOf(folders.runContainers),
    ...entriesOf(folders.runcRoot),
    ...afterPrefix(entriesOf(earlierNetnsFolder), earlierNetnsPrefix(folders)),
    ...cgroupsIn(cgroupParentOf(folders)),
    ...afterPrefix(scratch, scratchPrefix(folders)),
  ]);
}

async function removeLinks({ folders, programs }: Machine): Promise<string[]> {
  const attached = entriesOf(folders.runContainers).flatMap((name) => readAttachment(folders, name) ?? []);
  const wanted = new Set([
    ...attached.map(({ slot, host }) => vethOf(folders, slot, host)),
    ...slotsInUse(folders).map((slot) => bridgeOf(folders, slot)),
  ]);
  const ours = readdirSync('/sys/class/net').filter(
    (link) => link.startsWith(bridgePrefix(folders)) || link.startsWith(vethPrefix(folders)),
  );
  const unwanted = ours.filter((link) => !wanted.has(link));
  for (const link of unwanted) await programs.attempt('ip', ['link', 'delete', link]);
  return unwanted.map((link) => `link ${link}`);
}

async function removeMounts({ folders, programs }: Machine): Promise<string[]> {
  const unwanted = mountPoints().filter((path) => {
    const [name = ''] = path.startsWith(`${folders.runContainers}/`) ? path.slice(folders.runContainers.length + 1).split('/') : [];
    return name !== '' && !entriesOf(folders.runContainers).includes(name);
  });
  if (unwanted.length > 0) await programs.attempt('umount', ['--lazy', '--', ...unwanted.toReversed()]);
  return unwanted.map((path) => `mount ${path}`);
}

/** Ends monitors that watch a bundle that is gone. */
function endMonitors(folders: RuntimeFolders): string[] {
  const bundles = new Set(entriesOf(folders.runContainers).map((name) => bundleOf(folders, name)));
  const lost = readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      if (!(pid > 0)) return false;
      const [program = '', ...args] = commandOf(pid).split('\0');
      const bundle = args.find(
        (arg) => arg.startsWith(`${join(folders.runContainers)}/`) && !arg.slice(folders.runContainers.length + 1).includes('/'),
      );
      return ['conmon', 'perl', 'sh'].includes(basename(program)) && bundle !== undefined && !bundles.has(bundle);
    });
  for (const pid of lost) signalProcess(pid, 'SIGKILL');
  return lost.map((pid) => `process ${pid}`);
}
