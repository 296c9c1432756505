/** The doors into what runs: SSH, which leads to Git too, and terminals in browsers. `./offshoot sessions` lists who is inside. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';
import { serveTerminals } from './serve-terminals.ts';

export const ssh: Room = {
  name: 'SSH',
  about: 'The doors to Git and into what runs, for those who come by SSH, and for terminals in browsers.',
  operations,
  mount: serveTerminals,
};
