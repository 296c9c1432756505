/** The product on one screen. */
import type { Rooms } from './kernel/room.ts';
import { signIn } from './rooms/sign-in/room.ts';
import { users } from './rooms/users/room.ts';

export const rooms: Rooms = [signIn, users];
