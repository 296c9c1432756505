/**
 * Carries activities out: claims those whose turn it is, a bounded number at once, keeps their leases while it works on them, and gives them back
 * when the process ends. Several runners share the work; what one was killed in the middle of, another goes on with when the lease has lapsed.
 */
import { ulid } from './id.ts';
import type { Activity, ActivityDefinition } from './activity.ts';
import { carryOut, Interrupted, type Faults, type Wait } from './activity-run.ts';
import { claim, renewLeases, type RunnerCapacity } from './activity-queries.ts';
import { countWait } from './own-instruments.ts';
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
/** Activities that only follow something, or wait for others, cost next to nothing. */
const patientMax = 500;
/** Shares of all places: what one party may have, and what all within one outer party may. The rest is kept for whoever comes meanwhile. */
const partyShare = 2 / 3;
const outerShare = 5 / 6;
/** Extra places, as a share of all: one each for outer parties that have none, where several others together have taken all of them. */
const newcomersShare = 1 / 2;
const closeSecondsMax = 10;

const isPatient = (definition: ActivityDefinition) => definition.isPatient === true;

interface Running {
  activity: Activity;
  stop: AbortController;
  done: Promise<void>;
  /** How many things that others have it is waiting for. */
  waits: number;
}

export function startRunner(definitions: readonly ActivityDefinition[], platform: Platform, options: RunnerOptions = {}): Runner {
  const { leaseSeconds = leaseSecondsDefault, activitiesMax = activitiesMaxDefault, hasMachine = () => true } = options;
  const { db, log, notices } = platform;
  const byType = new Map(definitions.map((definition) => [definition.type, definition]));
  const typesOf = (isWanted: (definition: ActivityDefinition) => boolean) => definitions.filter(isWanted).map(({ type }) => type);
  const [forTheMachine, patient] = [typesOf((d) => d.usesMachine === true), typesOf(isPatient)];
  const name = ulid();
  const running = new Map<string, Running>();
  const stopping = new AbortController();
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let leasesKeptAt = Date.now();

  const begin = (activity: Activity) => {
    const mine: Running = { activity, stop: new AbortController(), done: Promise.resolve(), waits: 0 };
    running.set(activity.id, mine);
    countWait(platform, activity);
    const wait: Wait = async (others) => {
      mine.waits += 1;
      void look();
      return others.finally(() => (mine.waits -= 1));
    };
    mine.done = carryOut(activity, byType.get(activity.type), platform, { signal: mine.stop.signal, wait, faults: options.faults })
      .catch((error: unknown) => log.error({ error, activity: activity.id, type: activity.type }, 'an activity could not be carried out'))
      .finally(() => {
        running.delete(activity.id);
        void look();
      });
  };

  const inHand = () =>
    [...running.values()].map(({ activity: { id, type }, waits }) => ({ id, is_patient: patient.includes(type) || waits > 0 }));

  const capacityBeside = (held: ReturnType<typeof inHand>): RunnerCapacity[] =>
    [
      { is_patient: false, most: activitiesMax },
      { is_patient: true, most: patientMax },
    ].map(({ is_patient, most }) => ({
      is_patient,
      free: most - held.filter((each) => each.is_patient === is_patient).length,
      newcomers: Math.ceil(most * newcomersShare),
      party_most: Math.max(1, Math.floor(most * partyShare)),
      outer_most: Math.max(1, Math.floor(most * outerShare)),
    }));

  const claimAll = async () => {
    try {
      while (lookAgain && !stopping.signal.aborted) {
        lookAgain = false;
        const held = inHand();
        const capacity = capacityBeside(held);
        if (capacity.every(({ free, newcomers }) => free + newcomers <= 0)) continue;
        const except = hasMachine() ? [] : forTheMachine;
        (await claim(db, name, { leaseSeconds, capacity, patient, except, inHand: held })).forEach(begin);
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
