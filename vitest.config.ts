import { globSync } from 'node:fs';
import { configDefaults, defineConfig } from 'vitest/config';
import { doorsOf } from './fast-tests.ts';
import { LongestFirst, SlowestFiles } from './slow-tests.ts';

const serverFiles = globSync('{server,edge,cli,console}/**/*.test.ts', { cwd: import.meta.dirname });
/** What a test with one of these in hand leaves behind is processes, mounts and file systems; one with nothing but a platform closes it, and its worker can go on. */
const doorsShared = new Set(['server/drivers/blobs/', 'server/platform.ts']);
const isShared = (file: string) => doorsOf(file).every((door) => doorsShared.has(door));

/** Loading the rooms takes as long as most tests of them: the files that can share a process do. */
const server = { include: serverFiles.filter(isShared), isolate: false, globalSetup: ['server/testing/database.ts'] };
const machine = {
  include: serverFiles.filter((file) => !isShared(file)),
  globalSetup: ['server/testing/database.ts', 'server/testing/collect-images.ts'],
};
/** Whole platforms, driven by clients, browsers and commands. Those that boot computers, build programs of others, or fetch packages, take long and are run by name: `./offshoot test machines`, `… peers`, `… templates`; those of types whose images are large, by `./offshoot test catalogue`. */
const whole = {
  include: ['e2e/**/*.test.ts'],
  exclude: [...configDefaults.exclude, 'e2e/machines/**', 'e2e/peers/**', 'e2e/templates/**', 'e2e/catalogue/**'],
  testTimeout: 240_000,
};

export default defineConfig({
  test: {
    // What takes long says more of the machine than of the program: these end what would never end. Times that are promised are measured by bench/.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    // Much of the time they wait for other programs, so also the smallest machine has four at work, until nothing is left to do.
    maxWorkers: 4,
    // Files are loaded by Node as they are, as in production: none has to be transformed first, and what one process has compiled the next one has at hand.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    setupFiles: ['server/testing/cpu-spent.ts'],
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new SlowestFiles()],
    projects: [
      { extends: true, test: { name: 'e2e', ...whole } },
      { extends: true, test: { name: 'machine', ...machine } },
      { extends: true, test: { name: 'server', ...server } },
    ],
  },
});
