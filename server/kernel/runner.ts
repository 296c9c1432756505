/**
 * Carries activities out: claims those whose turn it is, a bounded number at once, keeps their leases while it works on them, and gives them back
 * when the process ends. Several runners share the work; what one was killed in the middle of, another goes on with when the lease has lapsed.
 */
import { ulid } from './id.ts';
import type { Activity, ActivityDefinition } from './activity.ts';
import { carryOut, Interrupted, type Faults } from './activity-run.ts';
import { claim, renewLeases } from './activity-queries.ts';
import type { Platform } from '../platform.ts';

export interface Runner {
  /** Takes nothing new, interrupts what runs at its next step, and gives it back. */
  close(): Promise<void>;
}

export interface RunnerOptions {
  activitiesMax?: number;
  leaseSeconds?: number;
  /** Whether this process is the one that has the machine; always, where absent. */
  hasMachine?: () => boolean;
  /** For tests that break things. */
  faults?: Faults;
}

/** A kill is noticed when the lease has lapsed and somebody looks: leaseSeconds + lookAnywaySeconds at most. */
const leaseSecondsDefault = 10;
const lookAnywaySeconds = 2;
const activitiesMaxDefault = 24;
/** Those that only follow something cost next to nothing. */
const patientMax = 500;
const closeSecondsMax = 10;

const isPatient = (definition: ActivityDefinition) => definition.isPatient === true;

interface Running {
  activity: Activity;
  stop: AbortController;
  done: Promise<void>;
}

export function startRunner(definitions: readonly ActivityDefinition[], platform: Platform, options: RunnerOptions = {}): Runner {
  const { leaseSeconds = leaseSecondsDefault, activitiesMax = activitiesMaxDefault, hasMachine = () => true } = options;
  const { db, log, notices } = platform;
  const byType = new Map(definitions.map((definition) => [definition.type, definition]));
  const typesOf = (isWanted: (definition: ActivityDefinition) => boolean) => definitions.filter(isWanted).map(({ type }) => type);
  const [forTheMachine, patient, hurried] = [typesOf((d) => d.usesMachine === true), typesOf(isPatient), typesOf((d) => !isPatient(d))];
  const name = ulid();
  const running = new Map<string, Running>();
  const stopping = new AbortController();
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let leasesKeptAt = Date.now();

  const begin = (activity: Activity) => {
    const stop = new AbortController();
    const done = carryOut(activity, byType.get(activity.type), platform, stop.signal, options.faults)
      .catch((error: unknown) => log.error({ error, activity: activity.id, type: activity.type }, 'an activity could not be carried out'))
      .finally(() => {
        running.delete(activity.id);
        void look();
      });
    running.set(activity.id, { activity, stop, done });
  };

  /** How many it can take of whatever comes, and the types that it can take none of. */
  const room = () => {
    const following = [...running.values()].filter(({ activity }) => patient.includes(activity.type)).length;
    const freeOf = { hurried: Math.max(0, activitiesMax - (running.size - following)), patient: Math.max(0, patientMax - following) };
    const open = Object.values(freeOf).filter((free) => free > 0);
    const full = [freeOf.hurried === 0 ? hurried : [], freeOf.patient === 0 ? patient : []].flat();
    return { free: open.length === 0 ? 0 : Math.min(...open), full };
  };

  const claimAll = async () => {
    try {
      while (lookAgain && !stopping.signal.aborted) {
        lookAgain = false;
        const { free, full } = room();
        if (free === 0) continue;
        const except = hasMachine() ? full : [...full, ...forTheMachine];
        const claimed = await claim(db, name, free, { leaseSeconds, except, inHand: [...running.keys()] });
        claimed.forEach(begin);
        if (claimed.length === free) lookAgain = true;
      }
    } catch (error) {
      log.warn({ error }, 'activities could not be claimed');
    }
  };

  /** One look at a time; a wish for another during one is remembered. */
  const look = async () => {
    lookAgain = true;
    if (stopping.signal.aborted) return;
    looking ??= claimAll().finally(() => (looking = undefined));
    await looking;
  };

  const renew = async () => {
    if (running.size === 0) {
      leasesKeptAt = Date.now();
      return;
    }
    const kept = await renewLeases(db, name, [...running.keys()], leaseSeconds).catch((error: unknown) => {
      log.warn({ error }, 'leases could not be renewed');
      return undefined;
    });
    if (kept) leasesKeptAt = Date.now();
    else if (Date.now() - leasesKeptAt < leaseSeconds * 1000) return;
    for (const { activity, stop } of running.values()) {
      const lease = kept?.find(({ id, fence }) => id === activity.id && fence === activity.fence);
      if (!lease) stop.abort(new Interrupted('lost'));
      else if (lease.is_cancelled) stop.abort(new Interrupted('cancelled'));
    }
  };

  const timers = [setInterval(() => void look(), lookAnywaySeconds * 1000), setInterval(() => void renew(), (leaseSeconds / 3) * 1000)];
  const deaf = [
    notices.on('work', () => void look()),
    notices.on('cancel', (id) => (id === undefined ? void renew() : running.get(id)?.stop.abort(new Interrupted('cancelled')))),
  ];
  void look();

  return {
    close: async () => {
      stopping.abort();
      deaf.forEach((stopListening) => stopListening());
      timers.forEach(clearInterval);
      // What is just being claimed is given back, too.
      await looking;
      for (const { stop } of running.values()) stop.abort(new Interrupted('stopping'));
      const everything = Promise.all([...running.values()].map(({ done }) => done));
      await Promise.race([everything, new Promise((resolve) => setTimeout(resolve, closeSecondsMax * 1000).unref())]);
    },
  };
}
