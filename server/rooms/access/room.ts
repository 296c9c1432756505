/**
 * Who may do what in a project: people, teams, and what the two amount to.
 * Access is given per project with permissions per environment type; the older access lists of projects and environment types can be read.
 */
import type { Room } from '../../kernel/room.ts';
import * as environmentTypes from './operations/environment-types.ts';
import * as extendedAccess from './operations/extended-access.ts';
import * as olderAccessLists from './operations/older-access-lists.ts';
import * as teamAccess from './operations/team-access.ts';
import * as userAccess from './operations/user-access.ts';

export const access: Room = {
  name: 'Access',
  about: 'Who may do what in a project: people, teams, and what the two amount to.',
  operations: { ...userAccess, ...teamAccess, ...extendedAccess, ...environmentTypes, ...olderAccessLists },
};
