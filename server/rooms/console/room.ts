/** The console: the pages by which people use the platform. They are built from `console/`, and know nothing but the API. */
import type { Room } from '../../kernel/room.ts';
import { serveConsole } from './serve-console.ts';

export const consoleRoom: Room = {
  name: 'Console',
  about: 'The pages by which people use the platform, at /console. They do nothing that the API does not offer.',
  operations: {},
  mount: serveConsole,
};
