/** The fast loop: one project without a database, with the bounds of the others. */
import { defineConfig } from 'vitest/config';
import { fastTests, refusingPrograms } from './fast-tests.ts';
import whole from './vitest.config.ts';

const { projects: _, ...bounds } = whole.test ?? {};

export default defineConfig({
  test: {
    ...bounds,
    name: 'fast',
    include: fastTests(),
    isolate: false,
    env: { PATH: `${refusingPrograms()}:${process.env['PATH'] ?? ''}` },
  },
});
