import { defineConfig } from 'vitest/config';

/** Many of them wait for other programs, so also the smallest machine has two at work. */
const unit = {
  include: ['server/**/*.test.ts', 'edge/**/*.test.ts', 'cli/**/*.test.ts'],
  globalSetup: ['server/test-database.ts'],
  maxWorkers: 2,
};
/** These start whole platforms, browsers and clients; side by side they would only slow each other down. */
const whole = { include: ['e2e/**/*.test.ts'], fileParallelism: false };

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'server', ...unit } },
      { extends: true, test: { name: 'e2e', testTimeout: 240_000, ...whole } },
    ],
  },
});
