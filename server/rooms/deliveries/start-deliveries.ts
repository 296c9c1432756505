/**
 * Sends what was recorded, in every process that runs work: lanes side by side, those of one party never more than its share, and those of
 * receivers that failed the last time never more than half, so that slow receivers delay nobody but themselves. A lane whose sender was killed is free once its lease has lapsed.
 */
import type { DeliveryKind } from '../../kernel/delivery.ts';
import { ulid } from '../../kernel/id.ts';
import type { Platform } from '../../platform.ts';
import { claimLanes, LaneLost, leaveLane, renewLanes, secondsUntilDue, type Lane } from './lanes.ts';
import { sendLane, type Sender } from './send-lane.ts';

export interface Deliveries {
  /** Takes nothing new, interrupts what is being sent, and gives the lanes back. */
  close(): Promise<void>;
}

export interface DeliveriesOptions {
  lanesMax?: number;
  partyLanesMax?: number;
  failingLanesMax?: number;
  leaseSeconds?: number;
}

/** A lane costs a connection and what is waiting in memory for its answer. */
const usual = { lanesMax: 128, partyLanesMax: 16, failingLanesMax: 64, leaseSeconds: 15 };
const lookAnywaySeconds = 2;
/** How long a lane is left alone after a failure of our own. */
const troubleSeconds = 10;

export function startDeliveries(kinds: readonly DeliveryKind[], platform: Platform, options: DeliveriesOptions = {}): Deliveries {
  const { leaseSeconds } = { ...usual, ...options };
  const sending = openSending(kinds, platform, options);
  const renewing = setInterval(() => void sending.renew(), (leaseSeconds * 1000) / 3);
  const looking = setInterval(() => sending.look(), lookAnywaySeconds * 1000);
  const stopListening = platform.notices.on('delivery', () => sending.look());
  sending.look();
  return {
    close: async () => {
      clearInterval(looking);
      stopListening();
      await sending.stop();
      clearInterval(renewing);
    },
  };
}

/** Sends all that is due by now, and returns when that was tried. */
export async function deliverDue(kinds: readonly DeliveryKind[], platform: Platform): Promise<void> {
  const sending = openSending(kinds, platform, {});
  do {
    sending.look();
    await sending.idle();
  } while (((await secondsUntilDue(platform.db)) ?? Infinity) <= 0);
}

function openSending(kinds: readonly DeliveryKind[], platform: Platform, options: DeliveriesOptions) {
  const { lanesMax, partyLanesMax, failingLanesMax, leaseSeconds } = { ...usual, ...options };
  const { db, log } = platform;
  const sender: Sender = { platform, kinds: new Map(kinds.map((kind) => [kind.kind, kind])), holder: ulid() };
  const stop = new AbortController();
  const running = new Map<string, { party: string; isFailing: boolean; done: Promise<void> }>();
  let looking: Promise<void> | undefined;
  let lookAgain = false;

  const claim = async () => {
    const free = lanesMax - running.size;
    if (free <= 0) return;
    const held = new Map([...Map.groupBy(running.values(), ({ party }) => party)].map(([party, lanes]) => [party, lanes.length]));
    const heldFailing = [...running.values()].filter(({ isFailing }) => isFailing).length;
    const limits = { leaseSeconds, lanesMax: free, partyLanesMax, failingLanesMax };
    const lanes = await claimLanes(db, { holder: sender.holder, ...limits, held, heldFailing });
    for (const lane of lanes) running.set(lane.order_key, { party: lane.party, isFailing: lane.failures > 0, done: carryOut(lane) });
  };
  const carryOut = async (lane: Lane) => {
    const pauseSeconds = await sendLane(sender, lane, stop.signal).then(
      () => 0,
      (error: unknown) => {
        if (!(error instanceof LaneLost)) log.error({ err: error, lane: lane.order_key }, 'deliveries failed; they are tried again');
        return troubleSeconds;
      },
    );
    // Should this fail, too, the lease lapses.
    await leaveLane(db, sender.holder, lane.order_key, pauseSeconds).catch(() => {});
    running.delete(lane.order_key);
    look();
  };
  /** A hint during a look asks for another one after it. */
  const look = () => {
    if (stop.signal.aborted) return;
    lookAgain = true;
    looking ??= (async () => {
      while (lookAgain && !stop.signal.aborted) {
        lookAgain = false;
        await claim().catch((error: unknown) => log.error({ err: error }, 'deliveries could not be claimed; they are looked for again'));
      }
      looking = undefined;
    })();
  };
  const underWay = () => [...(looking ? [looking] : []), ...[...running.values()].map(({ done }) => done)];
  const idle = async () => {
    for (let some = underWay(); some.length > 0; some = underWay()) await Promise.all(some);
  };
  return {
    look,
    idle,
    renew: () =>
      renewLanes(db, sender.holder, leaseSeconds).catch((error: unknown) =>
        log.warn({ err: error }, 'leases of deliveries were not renewed'),
      ),
    stop: async () => {
      stop.abort();
      await idle();
    },
  };
}
