/** What people define in their configuration and run when they like: inside what runs, or on the code of a branch. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';
import { runtimeOperationActivity } from './runtime-operation.ts';
import { sourceOperationActivity } from './source-operation.ts';

export const definedOperations: Room = {
  name: 'Operations',
  about:
    'Commands that a configuration defines by name: runtime operations, which run inside an app or a worker, and source operations, which run on the code of a branch and push what they commit.',
  operations,
  activities: { runtimeOperationActivity, sourceOperationActivity },
};
