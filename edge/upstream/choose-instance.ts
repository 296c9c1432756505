/**
 * Which instance is asked, and which one after it: the least busy, or where a client is to stay with one, the one that it stays with. Those that were
 * tried in vain are not asked again, and there is an end to trying.
 */
import type { Visit } from '../client/visit.ts';
import type { RunningInstance } from './instances.ts';

const attemptsMax = 4;

export class Attempts {
  readonly #instances: readonly RunningInstance[];
  readonly #isSticky: boolean;
  readonly #tried: RunningInstance[] = [];
  #count = 0;
  #queueingSince: number | undefined;

  constructor(instances: readonly RunningInstance[], isSticky: boolean) {
    this.#instances = instances;
    this.#isSticky = isSticky;
  }

  next(visit: Visit, now: number): RunningInstance | undefined {
    if (this.#count >= attemptsMax) return undefined;
    this.#count++;
    return this.#isSticky ? stickyTo(visit, this.#instances, this.#tried) : leastBusy(this.#instances, this.#tried, now);
  }

  /** It refused, or did not answer in time. */
  failedAt(instance: RunningInstance) {
    instance.shun(performance.now());
    this.#tried.push(instance);
  }

  /** No attempt: the instance has no room in its queue. Whether it may be asked again. */
  mayQueue(secondsMax: number): boolean {
    this.#queueingSince ??= performance.now();
    if (performance.now() - this.#queueingSince > secondsMax * 1000) return false;
    this.#count--;
    return true;
  }
}

/** The one with the least to do that has not just refused; equals take turns. */
function leastBusy(instances: readonly RunningInstance[], tried: readonly RunningInstance[], now: number): RunningInstance | undefined {
  let chosen: RunningInstance | undefined;
  turn++;
  for (let index = 0; index < instances.length; index++) {
    const instance = instances[(index + turn) % instances.length];
    if (!instance || tried.includes(instance)) continue;
    if (!chosen || burden(instance, now) < burden(chosen, now)) chosen = instance;
  }
  return chosen;
}

let turn = 0;
const heavy = 1e9;
const burden = ({ outstanding, shunnedUntil }: RunningInstance, now: number) => outstanding + (shunnedUntil > now ? heavy : 0);

/**
 * The instance that the client's cookie names, as long as it is there; otherwise the same instance for the same address. When one comes or goes, only its
 * own clients move.
 */
function stickyTo(
  { address, head }: Pick<Visit, 'address' | 'head'>,
  instances: readonly RunningInstance[],
  tried: readonly RunningInstance[],
): RunningInstance | undefined {
  const told = head.stickyTo === undefined ? undefined : instances.find(({ mark }) => mark === head.stickyTo);
  if (told && !tried.includes(told)) return told;
  let chosen: RunningInstance | undefined;
  let highest = -1;
  for (const instance of instances) {
    const weight = hash(`${address} ${instance.id}`);
    if (weight > highest && !tried.includes(instance)) [chosen, highest] = [instance, weight];
  }
  return chosen;
}

/** FNV-1a, stirred once more: otherwise the last characters alone would decide. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return (value ^ (value >>> 13)) >>> 0;
}
