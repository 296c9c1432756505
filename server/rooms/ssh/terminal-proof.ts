/** What a caller of the API has proved, for doors that ask again later whether it is still honoured. */
import type { Proof } from '../../identity.ts';
import type { Caller } from '../../platform.ts';

export const proofOf = ({ id, via, amr, user }: Caller): Proof => ({
  sub: id,
  via,
  generation: user.token_generation,
  ...(amr && { amr }),
});
