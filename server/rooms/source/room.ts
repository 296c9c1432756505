/** The code of projects: Git over HTTP and SSH, and the API to read repositories with. */
import type { Room } from '../../kernel/room.ts';
import { mountGit } from './http.ts';
import * as operations from './operations.ts';

export const source: Room = {
  name: 'Repository',
  about:
    'The code of a project. Clone it from /git/{projectId}.git with an API token as the password, or over SSH; or read it here, object by object.',
  operations,
  mount: mountGit,
};
