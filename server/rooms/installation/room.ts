/** The installation, for its operators. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';

export const installation: Room = {
  name: 'Installation',
  about:
    'For operators: what the machine has and gives out, how the platform is, who uses it and how much of it each may have, its images, and open sessions.',
  operations,
};
