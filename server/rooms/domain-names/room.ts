/** Which names belong to which project and environment, for whoever resolves routes. How they get there is the room of domains. */
import type { Room } from '../../kernel/room.ts';

export const domainNames: Room = {
  name: 'Domain names',
  about: 'Which names belong to which project and environment.',
  operations: {},
};
