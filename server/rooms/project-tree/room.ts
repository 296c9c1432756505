/** What the tree of a project shows of each environment beside the environment itself. */
import type { Room } from '../../kernel/room.ts';
import { getProjectTree } from './operations.ts';

export const projectTree: Room = {
  name: 'Project tree',
  about: 'What each environment of a project holds and uses, what was deployed there, and who works on it.',
  operations: { getProjectTree },
};
