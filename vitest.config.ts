import { defineConfig } from 'vitest/config';

/** Many of them wait for other programs, so also the smallest machine has two at work. */
const unit = {
  include: ['server/**/*.test.ts', 'edge/**/*.test.ts', 'cli/**/*.test.ts'],
  globalSetup: ['server/test-database.ts'],
  maxWorkers: 2,
};
/** These start whole platforms, browsers and clients; side by side they would only slow each other down. */
const whole = { include: ['e2e/**/*.test.ts'], fileParallelism: false };

/**
 * Thousands of tests with real processes on a small machine: a race that is lost once in hundreds of runs should not throw away a whole run. What fails
 * for a reason fails twice; what needed the second time is shown as such, and is to be mended. At a developer's desk nothing is tried again.
 */
const retry = process.env['CI'] === undefined ? 0 : 1;

export default defineConfig({
  test: {
    retry,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'server', ...unit } },
      { extends: true, test: { name: 'e2e', testTimeout: 240_000, ...whole } },
    ],
  },
});
