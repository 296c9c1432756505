import { Damage } from './blobs.ts';

/** Work that finds what is stored damaged is done once more, after a repair; what it finds then is for its caller. */
export async function repairingOnce<T>(work: () => Promise<T>, repair: (found: Damage) => Promise<unknown>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    await repair(error);
    return work();
  }
}
