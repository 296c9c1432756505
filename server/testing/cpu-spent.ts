/** Notes with each test file what it cost: the seconds of processors that its own process took, and all programs that it started and that have ended. */
import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    cpuSeconds?: number;
  }
}

/** Of a second, as the kernel counts. */
const ticks = 100;

const before = secondsSpent();
// oxlint-disable-next-line no-empty-pattern -- Vitest refuses any other first argument.
afterAll(({}, { file }) => {
  file.meta.cpuSeconds = secondsSpent() - before;
});

/** The fields after the name of the program, which may hold blanks: of the process and of those that it has waited for, as user and in the kernel. */
function secondsSpent(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const spent = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return spent / ticks;
}
