import { defineConfig } from 'vitest/config';

/** `./offshoot test peers`. Files one after the other: the first run builds programs, and that takes all processors. */
export default defineConfig({
  test: {
    include: ['e2e/peers/*.test.ts'],
    fileParallelism: false,
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 1_800_000,
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
});
