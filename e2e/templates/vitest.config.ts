import { defineConfig } from 'vitest/config';

/** `./offshoot test templates`. One after the other, so that the times that are measured are those of one push alone. */
export default defineConfig({
  test: {
    include: ['e2e/templates/*.test.ts'],
    fileParallelism: false,
    maxWorkers: 1,
    testTimeout: 1_200_000,
    hookTimeout: 1_800_000,
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
});
