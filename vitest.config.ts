import { configDefaults, defineConfig } from 'vitest/config';

/** Most of their time they wait for other programs, so also the smallest machine has three at work. */
const unit = {
  include: ['server/**/*.test.ts', 'edge/**/*.test.ts', 'cli/**/*.test.ts'],
  globalSetup: ['server/testing/database.ts'],
  maxWorkers: 3,
  sequence: { groupOrder: 0 },
};
/** Whole platforms too, but what people do with them, by clients, browsers and commands, and that they survive it, is not measured: two at a time. */
const clientFiles = [
  'kill',
  'first-start',
  'several-processes',
  'released-cli*',
  'invitation',
  'password-and-passcode',
  'sign-in-page',
  'readme',
  'operator-commands',
  'platform-backup',
  'environments',
  'stacks',
  'upgrade',
  'hostile-tenant/*',
].map((name) => `e2e/${name}.test.ts`);
const clients = { include: clientFiles, maxWorkers: 2, sequence: { groupOrder: 1 } };
/** They boot computers, which takes long, and are run by name: `./offshoot test machines` has a configuration of its own. */
const machineFiles = 'e2e/machines/**';
/** These start whole platforms and measure; side by side they would only slow each other down. */
const whole = {
  include: ['e2e/**/*.test.ts'],
  exclude: [...configDefaults.exclude, ...clientFiles, machineFiles],
  fileParallelism: false,
  sequence: { groupOrder: 2 },
};

export default defineConfig({
  test: {
    // What takes long says more of the machine than of the program: these end what would never end. Where a time is promised, the test itself says so.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    projects: [
      { extends: true, test: { name: 'server', ...unit } },
      { extends: true, test: { name: 'clients', testTimeout: 240_000, ...clients } },
      { extends: true, test: { name: 'e2e', testTimeout: 240_000, ...whole } },
    ],
  },
});
