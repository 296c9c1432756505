/**
 * The layers that anything on this machine runs on, whoever started it: a container keeps its image while it runs, also one of another installation that
 * shares the cache. Found by the mounts of all processes: the root of a container is known by where it is mounted, and beside it are links to its layers.
 * What builds images, and what earlier versions started, names layers in the mounts themselves.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { mountPointsIn } from '../mounts.ts';
import { bundleOfRoot, layerLinks } from '../runtime/runc/runtime-folders.ts';

const hashCharacters = 32;

export function mountedLayers(folder: string): Set<string> {
  const place = `${folder}/layers/`;
  const found = processesWithMounts().flatMap((id) => {
    const mounts = orNothing(() => readFileSync(`/proc/${id}/mountinfo`, 'utf8')) ?? '';
    return [mounts, ...linkedLayers(id, mounts)].flatMap((text) => text.split(place).slice(1));
  });
  return new Set(found.map((rest) => rest.slice(0, hashCharacters)));
}

/** One process of each mount namespace. */
function processesWithMounts(): string[] {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const namespaces = processes.flatMap((id) => {
    const namespace = orNothing(() => readlinkSync(`/proc/${id}/ns/mnt`));
    return namespace === undefined ? [] : [[namespace, id] as const];
  });
  return [...new Map(namespaces).values()];
}

/** The paths that the links lead to, as the process sees them. */
function linkedLayers(processId: string, mounts: string): string[] {
  return mountPointsIn(mounts).flatMap((mountPoint) => {
    const bundle = bundleOfRoot(mountPoint);
    const links = bundle === undefined ? undefined : join(`/proc/${processId}/root`, layerLinks(bundle));
    return links === undefined ? [] : (orNothing(() => readdirSync(links).map((link) => readlinkSync(join(links, link)))) ?? []);
  });
}

/** Undefined where the process or container ended meanwhile. */
function orNothing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
