/** How many variables there may be: checked after a change and within its transaction, so that it holds whoever else is changing variables. */
import { Problem } from '../../kernel/problem.ts';
import type { Usage } from './queries.ts';

export const variablesMax = 500;
/** Lists carry all values of a level and its ancestors; this bounds how large they can get. */
const bytesMax = 16 * 1024 * 1024;

export function refuseTooMuch(level: 'project' | 'environment', { count, bytes }: Usage) {
  if (count > variablesMax) {
    const whole = level === 'project' ? 'A project has' : 'An environment has';
    throw new Problem('conflict', `${whole} at most ${variablesMax} variables of its own; delete one that is not needed any more.`);
  }
  if (bytes > bytesMax) {
    const whole = level === 'project' ? 'of a project' : "of a project's environments";
    throw new Problem('conflict', `The variables ${whole} hold at most ${bytesMax / 1024 / 1024} MiB together; delete or shorten some.`);
  }
}
