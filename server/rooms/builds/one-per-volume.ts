import type { Volumes } from '../../drivers/volumes/volumes.ts';
import { oneAtATime, type OneAtATime } from '../../kernel/limits.ts';
import { stateOf } from '../../kernel/state-of.ts';

/** A slug or a build cache is made, filled and removed by one at a time, by the name of its volume. */
export const onePerVolume = stateOf<Volumes, OneAtATime>(oneAtATime);
