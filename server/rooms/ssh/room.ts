/** The door for SSH, and what is behind it: Git, and running apps. It has no operations in the API; `./offshoot sessions` lists who is inside. */
import type { Room } from '../../kernel/room.ts';

export const ssh: Room = {
  name: 'SSH',
  about: 'The door to Git and into what runs, for those who come by SSH.',
  operations: {},
};
