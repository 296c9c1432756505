/** People, their API tokens and their SSH keys. */
import type { Room } from '../../kernel/room.ts';
import * as apiTokens from './operations/api-tokens.ts';
import * as sshKeys from './operations/ssh-keys.ts';
import * as userOperations from './operations/users.ts';

export const users: Room = {
  name: 'Users',
  about: 'People, the API tokens that sign their programs in, and the SSH keys that sign them in to Git and to containers.',
  operations: { ...userOperations, ...apiTokens, ...sshKeys },
};
