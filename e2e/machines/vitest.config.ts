import { defineConfig } from 'vitest/config';

/** `./offshoot test machines`. One machine at a time: without help of the processor, one is all that a computer can bear. */
export default defineConfig({
  test: { include: ['e2e/machines/*.test.ts'], fileParallelism: false, maxWorkers: 1 },
});
