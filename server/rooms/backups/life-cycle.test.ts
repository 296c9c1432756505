import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { cancelWaiting } from '../../kernel/activity-queries.ts';
import { startActivity } from '../../kernel/activity.ts';
import { ulid } from '../../kernel/id.ts';
import { Problem } from '../../kernel/problem.ts';
import { workThrough } from '../../testing/activities.ts';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { walk } from '../../testing/walk.ts';
import type { Stack } from '../deployments/public.ts';
import { noteVerdict } from './damage.ts';
import { deleteBackupActivity } from './delete-backup.ts';
import { backupLife, backupState, statusOf, type BackupState } from './life-cycle.ts';
import { abandonBackup, insertBackup, makeRestorable, removeRows } from './queries.ts';
import { letGo, settleForgotten } from './retention-queries.ts';

let home: TestPlatform;
let owner: Person;
let projectId: string;
let stack: Stack;
/** The id of an activity that is over. */
let over: string;

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person();
  ({ projectId } = await sampleProject(owner));
  stack = await deploySample(home.platform, { projectId, environmentId: 'main' });
  // The store always fails to forget, so that a deletion fails when it is carried out.
  const forget = () => Promise.reject(new Problem('unavailable', 'The place does not answer.'));
  home.platform.blobs = { ...home.platform.blobs, forget };
  over = await home.platform.db.transaction().execute(async (tx) => {
    const asked = { project_id: projectId, input: { backup: 'none' } };
    const { id } = await startActivity(tx, deleteBackupActivity, asked);
    await cancelWaiting(tx, id);
    return id;
  });
});

interface Thing {
  id: string;
  /** The id of the activity that is about to delete the backup; `restore` is that of the one that is about to restore it. */
  deletion: string | undefined;
  restore: string | undefined;
}

const db = () => home.platform.db;
const at = ({ id }: Thing) => `/projects/${projectId}/environments/main/backups/${id}`;
const stateOf = async ({ id }: Thing) =>
  (await sql<{ state: BackupState }>`select ${backupState} as state from backups where id = ${id}`.execute(db())).rows[0]?.state;

/** What the API must tell after each event, written down here independently of the table. */
const toldAfter: Record<string, RegExp> = {
  finish: /^CREATED restorable$/,
  giveUp: /^gone$/,
  beForgotten: /^gone$/,
  findDamaged: /^CREATED$/,
  findWhole: /^CREATED restorable$/,
  delete: /^DELETING$/,
  restore: /^CREATED restorable$/,
  letGo: /^DELETING$/,
  spare: /^CREATED/,
};
const verbsIn: Record<BackupState, readonly string[]> = {
  making: [],
  restorable: ['delete', 'restore'],
  damaged: ['delete'],
  deleting: ['delete'],
  deletingDamaged: ['delete'],
  abandoned: [],
};

const isOffered = (verb: 'delete' | 'restore', { deletion, restore }: Thing, state: BackupState) =>
  verbsIn[state].includes(verb) && deletion === undefined && (verb === 'restore' || restore === undefined);
const sentenceOf = (verb: 'delete' | 'restore', { id }: Thing, state: BackupState) => backupLife.otherwise(state, verb).replace('{id}', id);

/** Asks over HTTP; answers with the id of the activity that was started, if one was. */
async function ask(verb: 'delete' | 'restore', thing: Thing): Promise<string | undefined> {
  const state = (await stateOf(thing)) ?? 'abandoned';
  const path = verb === 'delete' ? at(thing) : `${at(thing)}/restore`;
  const { status, json } = await owner.send(verb === 'delete' ? 'DELETE' : 'POST', path, verb === 'restore' ? {} : undefined);
  if (isOffered(verb, thing, state)) {
    expect({ status, json }).toMatchObject({ status: 200 });
    return json._embedded.activities[0].id;
  }
  const isListed = backupLife.possible(state, 'list');
  expect({ status, message: json.message }).toMatchObject(
    isListed ? { status: 409, message: sentenceOf(verb, thing, state) } : { status: 404 },
  );
  return undefined;
}

const cancel = async (id: string | undefined) =>
  expect((await owner.send('POST', `/projects/${projectId}/activities/${id}/cancel`)).status).toBe(200);

const finish = ({ id }: Thing) =>
  db()
    .transaction()
    .execute((tx) => {
      const stored = { backup: id, parts: [], places: {}, bytes: 1, bytesAdded: 1 };
      return makeRestorable(tx, { id, stored, parts: [], size_of_volumes: 1, size_used: 1, taken_at: new Date().toISOString() });
    });

const forget = async ({ id }: Thing) => {
  await sql`update backups set activity_id = ${over} where id = ${id}`.execute(db());
  await settleForgotten(db());
};

const askToDelete = async (thing: Thing) => {
  thing.deletion = (await ask('delete', thing)) ?? thing.deletion;
};

/** The restore stays open for a while; meanwhile the backup can neither be deleted nor expire. */
const askToRestore = async (thing: Thing) => {
  thing.restore = (await ask('restore', thing)) ?? thing.restore;
};

const spare = async (thing: Thing) => {
  await cancel(thing.deletion);
  thing.deletion = undefined;
  await settleForgotten(db());
};

/** Events that the table does not have: an activity ends, and the backup is again in the state in which it was. */
const endings = {
  failToDelete: (thing: Thing) =>
    thing.deletion === undefined
      ? undefined
      : async () => {
          await workThrough(home.platform, undefined, [deleteBackupActivity]);
          thing.deletion = undefined;
        },
  endRestore: (thing: Thing) =>
    thing.restore === undefined
      ? undefined
      : async () => {
          await cancel(thing.restore);
          thing.restore = undefined;
        },
};

const life = {
  after: (state: BackupState, event: Parameters<typeof backupLife.after>[1] | keyof typeof endings) =>
    event in endings ? state : backupLife.after(state, event as Parameters<typeof backupLife.after>[1]),
};

const verbs = ['delete', 'restore'] as const;

/** Checks that only what is possible is offered, and that everything else is refused. */
async function look(thing: Thing, state: BackupState, happened: string | undefined) {
  for (const verb of verbs) if (!isOffered(verb, thing, state)) await ask(verb, thing);
  const { status, json } = await owner.send('GET', at(thing));
  const isListed = backupLife.possible(state, 'list');
  expect(status).toBe(isListed ? 200 : 404);
  const ids: { id: string }[] = (await owner.send('GET', `/projects/${projectId}/environments/main/backups`)).json;
  expect(ids.some(({ id }) => id === thing.id)).toBe(isListed);
  const told = isListed ? `${json.status}${json.restorable ? ' restorable' : ''}` : 'gone';
  expect(told).toMatch(toldAfter[happened ?? ''] ?? /./);
  if (!isListed) return;
  expect({
    status: json.status,
    restorable: json.restorable,
    offered: ['#delete', '#restore'].filter((link) => link in json._links),
  }).toEqual({
    status: statusOf(state),
    restorable: backupLife.possible(state, 'restore'),
    offered: verbs.filter((verb) => isOffered(verb, thing, state)).map((verb) => `#${verb}`),
  });
}

const steps = 30;

test.for([1, 2, 3])('a backup lives as its table says, whatever happens to it (seed %i)', { timeout: 120_000 }, async (seed) => {
  const taken = await walk(seed, steps, {
    life,
    begin: async () => {
      await sql`delete from activities where id <> ${over}`.execute(db());
      const thing: Thing = { id: ulid(), deletion: undefined, restore: undefined };
      await db()
        .transaction()
        .execute((tx) => insertBackup(tx, home.platform.secrets, { id: thing.id, stack, safe: true, slot: null, activity_id: null }));
      return { thing, state: 'making' };
    },
    stateOf,
    look,
    events: {
      ...endings,
      finish: (thing) => () => finish(thing),
      giveUp: (thing) => (thing.deletion === undefined && thing.restore === undefined ? () => abandonBackup(db(), thing.id) : undefined),
      beForgotten: (thing) => () => forget(thing),
      findDamaged: (thing) => async () => void (await noteVerdict(db(), thing.id, 'damaged')),
      findWhole: (thing) => async () => void (await noteVerdict(db(), thing.id, 'whole')),
      delete: (thing) => (thing.deletion === undefined && thing.restore === undefined ? () => askToDelete(thing) : undefined),
      restore: (thing) => (thing.restore === undefined ? () => askToRestore(thing) : undefined),
      letGo: (thing) => (thing.restore === undefined ? () => letGo(db(), [thing.id]) : undefined),
      spare: (thing, isPossible) => (isPossible && thing.deletion !== undefined ? () => spare(thing) : undefined),
      remove: (thing) => () => removeRows(db(), [thing.id]),
    },
  });
  expect(taken).toBeGreaterThanOrEqual(steps);
});
