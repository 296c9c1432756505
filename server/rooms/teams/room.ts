/** Groups of an organization's people that are let into projects together. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';

export const teams: Room = {
  name: 'Teams',
  about: "Groups of an organization's people that are let into projects together.",
  operations,
};
