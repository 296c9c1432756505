/** Ends all that runs for environments, and the edge. Stopping the platform leaves them alone; this is for a machine, or a data folder, that is to go. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../server/config.ts';
import { openDataFolder } from '../server/data-folder.ts';
import { stopEdgeIn } from '../server/drivers/edge/open-edge.ts';
import { removeRunFolder } from '../server/drivers/runtime/runc/runtime-folders.ts';
import { openRuncRuntime } from '../server/drivers/runtime/runc/runc.ts';
import { openVolumes } from '../server/drivers/volumes/open-volumes.ts';

const edgeSecondsMax = 10;

export async function shutDown(config: Config) {
  if (!existsSync(config.data)) return;
  // This throws where the platform runs, which would start everything again.
  const data = openDataFolder(config.data);
  try {
    await stopEdgeIn(join(config.data, 'edge'), edgeSecondsMax);
    // A start that was cut off has mounted its volumes, and nothing runs on them.
    if (!['volumes', 'runtime'].some((name) => existsSync(join(config.data, name)))) return;
    const volumes = await openVolumes(config, () => {});
    const runtime = await openRuncRuntime({ folder: join(config.data, 'runtime'), volumes });
    const running = await runtime.list();
    // Each container is ended as its program wants to be; one that takes too long is killed with what is left.
    await Promise.allSettled(running.map(({ name }) => runtime.remove(name)));
    // What other programs of the machine keep from being removed does not keep the rest from ending.
    const left = await runtime.removeLeftovers(new Set()).then(
      () => undefined,
      (error: Error) => error,
    );
    await runtime.close();
    removeRunFolder(join(config.data, 'runtime'));
    await volumes.close();
    await volumes.unmount?.();
    if (left) throw left;
    console.log(`${running.length} containers are stopped; the next start brings back what should run.`);
  } finally {
    data.close();
  }
}
