/** A build in a process of its own, to be killed: `node test-killed-build.ts <asked>`, until somebody does. */
import { join } from 'node:path';
import { readConfig } from '../../config.ts';
import { openGit } from '../../drivers/git/open-git.ts';
import { openRuncRuntime } from '../../drivers/runtime/runc/runc.ts';
import { openPoolVolumes } from '../../drivers/volumes/btrfs/btrfs.ts';
import { openDatabase, openPool } from '../../kernel/sql.ts';
import { openTestImages, testEnvironment } from '../../testing/images.ts';
import { buildApps } from './build-apps.ts';
import { hooksOf, modelOf, testApp, testWork } from './test-build.ts';

export interface Asked {
  /** Of the machine. */
  folder: string;
  data: string;
  databaseUrl: string;
  project: string;
  commit: string;
  hook: string;
}

/** All that a build needs, on a machine that may have been another process's before. */
export async function openBuilding({ folder, data, databaseUrl }: Asked) {
  const config = readConfig({ OFFSHOOT_DATA: data });
  const db = openDatabase(openPool(databaseUrl));
  const git = await openGit(join(data, 'repositories'), config);
  const volumes = await openPoolVolumes(join(folder, 'volumes'), () => {});
  const runtime = await openRuncRuntime({ folder: join(folder, 'runtime'), runFolder: join(folder, 'run'), volumes, env: testEnvironment });
  const images = openTestImages();
  const close = async () => {
    for (const { name } of await runtime.list()) await runtime.remove(name);
    await runtime.removeLeftovers(new Set());
    await runtime.close();
    await volumes.close();
    await volumes.unmount();
    await git.close();
    await db.destroy();
  };
  return { parts: { config, db, git, volumes, runtime, images }, close };
}

export const requestOf = ({ project, commit, hook }: Asked) => ({
  project: { id: project, entropy: 'e'.repeat(56) },
  environment: { id: 'main' },
  commit,
  model: modelOf(testApp({ hooks: hooksOf(hook) })),
  variables: [],
});

if (import.meta.main) {
  const asked = JSON.parse(process.argv[2] ?? '') as Asked;
  const { parts } = await openBuilding(asked);
  await buildApps({ ...testWork(), log: (line) => console.log(line) }, parts, requestOf(asked));
}
