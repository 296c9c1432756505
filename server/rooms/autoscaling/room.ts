/** Autoscaling: more instances where the load asks for them, and fewer where it does not. */
import type { Room } from '../../kernel/room.ts';
import { autoscale } from './autoscale.ts';
import * as operations from './operations.ts';

export const autoscaling: Room = {
  name: 'Autoscaling',
  about: 'More instances of applications and workers where the load asks for them, and fewer where it does not.',
  operations,
  reconcilers: [autoscale],
};
