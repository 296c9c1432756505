/** `./offshoot test catalogue`: every version of every type on its real image, where a whole run tries one of each (`server/testing/tried-types.ts`). */
import { defineConfig } from 'vitest/config';
import whole from './vitest.config.ts';

const { projects: _, ...bounds } = whole.test ?? {};

export default defineConfig({
  test: {
    ...bounds,
    name: 'catalogue',
    include: ['server/catalogue/*.test.ts', 'e2e/catalogue/*.test.ts'],
    provide: { everyVersion: true },
  },
});
