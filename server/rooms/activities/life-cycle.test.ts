import { sql } from 'kysely';
import { once } from 'node:events';
import { Type } from 'typebox';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { activity, CommandFailed, startActivity, type ActivityDefinition } from '../../kernel/activity.ts';
import { activityLife, type ActivityState } from '../../kernel/activity-life-cycle.ts';
import { claim, releaseStaged } from '../../kernel/activity-queries.ts';
import type { Interrupted } from '../../kernel/activity-run.ts';
import { startRunner, type Runner } from '../../kernel/runner.ts';
import { activityRow } from '../../testing/activities.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { walk } from '../../testing/walk.ts';

let home: TestPlatform;
let owner: Person;
let project_id: string;
let runner: Runner | undefined;

const lane = 'main';
type Word = 'well' | 'badly' | 'staged' | 'stopped';

interface Thing {
  id: string;
  isCancellable: boolean;
  /** Somebody asked its runner to stop. */
  isStopping: boolean;
  /** How it is to end, for whoever carries it out. */
  word: PromiseWithResolvers<Word>;
  /** How often somebody began to carry it out. */
  begun: number;
}
const things = new Map<string, Thing>();

/** Goes on until it is told how to end, also where somebody wants it to stop. */
const obedient = (type: string, cancellable: boolean) =>
  activity({
    type,
    cancellable,
    queue: 'default',
    input: Type.Object({}),
    run: async ({ activity: { id }, signal, stage }) => {
      const thing = things.get(id);
      if (!thing) throw new Error(`Nobody waits for ${id}`);
      thing.begun += 1;
      const word = await Promise.race([thing.word.promise, givenBack(signal)]);
      if (word === 'staged') stage(lane);
      if (word === 'badly') throw new CommandFailed('It came to nothing.');
      if (word !== 'stopped') return;
      // Whoever asked for it told the runner, which may not have heard yet.
      if (!signal.aborted) await once(signal, 'abort');
      throw signal.reason;
    },
  });
/** Its runner ends; only what was cancelled waits for its word. */
const givenBack = (signal: AbortSignal) =>
  new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => (signal.reason as Interrupted).why !== 'cancelled' && reject(signal.reason as Error)),
  );

const patient = obedient('test.patient', true);
const stubborn = obedient('test.stubborn', false);
const definitions: ActivityDefinition[] = [patient, stubborn];

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person();
  ({ projectId: project_id } = await sampleProject(owner));
});
afterEach(letGo);

/** Of what is under way. */
async function letGo() {
  for (const { word } of things.values()) word.resolve('well');
  things.clear();
  await runner?.close();
  runner = undefined;
}

const at = (id: string) => `/projects/${project_id}/activities/${id}`;
const rowOf = ({ id }: Thing) => activityRow(home.platform, id);

const far = new Date('2100-01-01T00:00:00Z');

async function start(isLater: boolean, isCancellable: boolean): Promise<Thing> {
  const definition = isCancellable ? patient : stubborn;
  const asked = { project_id, environments: [{ id: lane, type: 'production' }], input: {}, ...(isLater && { at: far }) };
  const { id } = await home.platform.db.transaction().execute((tx) => startActivity(tx, definition, asked));
  const thing = { id, isCancellable, isStopping: false, word: Promise.withResolvers<Word>(), begun: 0 };
  things.set(id, thing);
  return thing;
}

/** Whoever began it before gives it back. */
async function carryOut(thing: Thing) {
  const before = thing.begun;
  await runner?.close();
  runner = startRunner(definitions, home.platform);
  await expect.poll(() => thing.begun).toBe(before + 1);
}

/** What a runner would get: nobody has anything of this kind in hand. */
async function lookForWork(places: number) {
  const free = { is_patient: false, free: places, newcomers: 0, party_most: places, outer_most: places };
  const taken = await claim(home.platform.db, 'a test', { leaseSeconds: 1, capacity: [free], patient: [], except: [], inHand: [] });
  expect(taken).toEqual([]);
}

const begin = (thing: Thing, isPossible: boolean) => () => (isPossible ? carryOut(thing) : lookForWork(1));

const end = (thing: Thing, word: Word) => async () => {
  thing.word.resolve(word);
  await expect.poll(async () => (await rowOf(thing)).lease_until).toBeNull();
};

const isOffered = ({ isCancellable, isStopping }: Thing, state: ActivityState) =>
  state === 'pending' || state === 'scheduled' || (state === 'in_progress' && isCancellable && !isStopping);

/** As people know it, whatever the table says. */
const toldAfter = {
  comeDue: 'pending',
  begin: 'in_progress',
  goOn: 'in_progress',
  complete: 'complete',
  stage: 'staged',
  stop: 'cancelled',
  release: 'complete',
};
/** Whether it is completed, cancelled, staged and carried out. */
const marksOf: Record<ActivityState, boolean[]> = {
  scheduled: [false, false, false, false],
  pending: [false, false, false, false],
  in_progress: [false, false, false, true],
  staged: [false, false, true, false],
  complete: [true, false, false, false],
  cancelled: [true, true, false, false],
};

const cancel = (thing: Thing) => async () => {
  const { state } = await rowOf(thing);
  const { status, json } = await owner.send('POST', `${at(thing.id)}/cancel`);
  if (!isOffered(thing, state))
    return expect({ status, message: json.message }).toEqual({ status: 400, message: activityLife.otherwise('complete', 'cancel') });
  expect(status).toBe(200);
  thing.isStopping = !activityLife.possible(state, 'wait');
};

const steps = 24;

test.for([1, 2, 3])('an activity lives as its table says, whatever happens to it (seed %i)', { timeout: 120_000 }, async (seed) => {
  const taken = await walk<ActivityState, keyof typeof toldAfter | 'cancel', Thing>(seed, steps, {
    life: activityLife,
    begin: async (random) => {
      await letGo();
      await sql`delete from activities`.execute(home.platform.db);
      const [isLater, isCancellable] = [random(3) === 0, random(4) > 0];
      return { thing: await start(isLater, isCancellable), state: isLater ? 'scheduled' : 'pending' };
    },
    stateOf: async (thing) => (await rowOf(thing)).state,
    look: async (thing, state, happened) => {
      expect(state).toBe(happened && happened !== 'cancel' ? toldAfter[happened] : state);
      if (!isOffered(thing, state)) await cancel(thing)();
      const { json } = await owner.send('GET', at(thing.id));
      expect({ state: json.state, isOffered: '#cancel' in json._links }).toEqual({ state, isOffered: isOffered(thing, state) });
      const { completed_at, cancelled_at, staged_in, lease_until } = await rowOf(thing);
      expect([completed_at, cancelled_at, staged_in, lease_until].map((each) => each !== null)).toEqual(marksOf[state]);
      const { rows } = await sql<{ is_open: boolean }>`select is_open from activity_lanes where activity_id = ${thing.id}`.execute(
        home.platform.db,
      );
      expect(rows).toEqual([{ is_open: activityLife.possible(state, 'beUnderWay') }]);
    },
    events: {
      comeDue: (thing) => async () => {
        await sql`update activities set run_after = '-infinity' where id = ${thing.id}`.execute(home.platform.db);
        await lookForWork(0);
      },
      begin,
      goOn: (thing, isPossible) => (isPossible && !thing.isStopping ? begin(thing, isPossible) : undefined),
      complete: (thing, isPossible) => (isPossible ? end(thing, thing.begun % 2 === 0 ? 'badly' : 'well') : undefined),
      stage: (thing, isPossible) => (isPossible ? end(thing, 'staged') : undefined),
      stop: (thing, isPossible) => (isPossible && thing.isStopping ? end(thing, 'stopped') : undefined),
      release: () => async () => void (await home.platform.db.transaction().execute((tx) => releaseStaged(tx, project_id, lane))),
      cancel,
    },
  });
  expect(taken).toBeGreaterThanOrEqual(steps);
});
