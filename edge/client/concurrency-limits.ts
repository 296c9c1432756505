/** How many requests are under way, in all, of each address and for each environment, so that none takes what belongs to all. */
import { countedAs } from './addresses.ts';
import type { EdgeLimits } from '../limits.ts';

export class ConcurrencyLimits {
  requests = 0;
  readonly #ofAddress = new Map<string, number>();
  readonly #ofCluster = new Map<string, number>();
  readonly #limits: EdgeLimits;

  constructor(limits: EdgeLimits) {
    this.#limits = limits;
  }

  /** False: the address or the environment has too many under way; nothing is counted then. */
  enter(address: string, cluster: string): boolean {
    const counted = countedAs(address);
    const ofAddress = this.#ofAddress.get(counted) ?? 0;
    const ofCluster = this.#ofCluster.get(cluster) ?? 0;
    if (ofAddress >= this.#limits.requestsPerAddressMax || ofCluster >= this.#limits.requestsPerEnvironmentMax) return false;
    this.#ofAddress.set(counted, ofAddress + 1);
    this.#ofCluster.set(cluster, ofCluster + 1);
    this.requests++;
    return true;
  }

  leave(address: string, cluster: string) {
    this.requests--;
    decrease(this.#ofAddress, countedAs(address));
    decrease(this.#ofCluster, cluster);
  }
}

/** Only those who have something under way are remembered. */
function decrease(counts: Map<string, number>, key: string) {
  const count = counts.get(key) ?? 0;
  if (count > 1) counts.set(key, count - 1);
  else counts.delete(key);
}
