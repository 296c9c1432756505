/**
 * The layers that anything on this machine runs on, whoever started it: a container keeps its image while it runs, also one of another installation that
 * shares the cache. Read from the mounts of all processes, as each container has its own.
 */
import { readdirSync, readFileSync } from 'node:fs';

const hashCharacters = 32;

export function mountedLayers(folder: string): Set<string> {
  const place = `${folder}/layers/`;
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const found = processes.flatMap((id) => mountsOf(id).split(place).slice(1));
  return new Set(found.map((rest) => rest.slice(0, hashCharacters)));
}

/** One that has ended meanwhile has none. */
function mountsOf(processId: string): string {
  try {
    return readFileSync(`/proc/${processId}/mountinfo`, 'utf8');
  } catch {
    return '';
  }
}
