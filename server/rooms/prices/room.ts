/** What the operator asks for what is used. */
import type { Room } from '../../kernel/room.ts';

export const prices: Room = {
  name: 'Prices',
  about: 'What the operator asks for what is used: lists in each currency, each effective from its day on.',
  operations: {},
};
