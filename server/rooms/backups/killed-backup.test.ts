import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { startRunningEdge } from '../../../edge/testing/running-edge.ts';
import { activityRow, workThrough } from '../../testing/activities.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { beginPush, loadRunner, makeMachine, openRunning, removeMachine, type Asked } from '../../testing/killed-runner.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { commitFiles } from '../../testing/repository.ts';
import { sampleProject } from '../../testing/samples.ts';
import type { Platform } from '../../platform.ts';
import { backupContent } from './queries.ts';
import { operate, seeded, stormFiles, visitConstantly, visitorOf, type Random } from './test-storm.ts';

/** A runner has to be killed during each of these steps. `after` is the step before it. */
const moments = [
  { type: 'environment.backup', after: 'begin backup', during: 'take copies' },
  { type: 'environment.backup', after: 'let others pass', during: 'store' },
  { type: 'environment.backup', after: 'store', during: 'verify' },
  { type: 'environment.restore', after: 'prepare deployment', during: 'fetch data' },
  { type: 'environment.restore', after: 'keep data', during: 'replace data' },
  { type: 'environment.backup.delete', after: undefined, during: 'forget' },
];
type Moment = (typeof moments)[number];

/** After so many kills, a runner is killed only during a step that was not met yet. */
const killsMax = 16;
const lookMilliseconds = 20;
/** The kill comes at most this long after the step has begun; at once, when an earlier kill has missed its step. */
const intoMillisecondsMax = 150;
const anyMillisecondsMax = 2500;
/** One kill in so many comes at any time, whatever the runner is doing. */
const anyEvery = 4;

interface UnderWay {
  id: string;
  type: string;
  fence: number;
  done: string[];
}

const underWay = async ({ db }: Platform): Promise<UnderWay[]> => {
  const { rows } = await sql<UnderWay>`
    select id, type, fence, array(select name from activity_steps where activity_id = activities.id and activity_steps.state = 'done') as done
    from activities where state = 'in_progress'`.execute(db);
  return rows;
};

const isAt = ({ type, done }: UnderWay, moment: Moment) =>
  type === moment.type && (moment.after === undefined || done.includes(moment.after)) && !done.includes(moment.during);

class Meeting {
  readonly #met = new Map<Moment, number>();
  kills = 0;

  isWanted(moment: Moment) {
    return !this.#met.has(moment);
  }

  get isWhole() {
    return moments.every((moment) => !this.isWanted(moment));
  }

  note(activities: readonly UnderWay[]) {
    for (const moment of moments)
      if (activities.some((activity) => isAt(activity, moment))) this.#met.set(moment, (this.#met.get(moment) ?? 0) + 1);
  }

  get summary() {
    return `${this.kills} kills; ${moments.map((moment) => `${moment.during} ${this.#met.get(moment) ?? 0}`).join(', ')}`;
  }
}

/** Runs one runner after the other, and kills each, until all is done. */
async function storm(platform: Platform, asked: Asked, random: Random, meeting: Meeting, isOver: () => boolean): Promise<void> {
  /** The activities that killed runners had claimed, with the fence of the claim. */
  const claimed = new Map<string, number>();
  const alive = async () => (await underWay(platform)).filter(({ id, fence }) => fence > (claimed.get(id) ?? 0));
  const wanted = async () => {
    const activities = await alive();
    return moments.filter((moment) => meeting.isWanted(moment) && activities.some((activity) => isAt(activity, moment)));
  };
  let isHurried = false;
  let next = loadRunner(asked);
  for (let isDone = false; !isDone; meeting.kills++) {
    const runner = next;
    next = loadRunner(asked);
    runner.go();
    const any = random(anyEvery) === 0 ? performance.now() + random(anyMillisecondsMax) : Infinity;
    const isAnyTime = () => meeting.kills < killsMax && performance.now() > any;
    let met: Moment[] = [];
    while (runner.isAlive() && !(isDone = isOver()) && !isAnyTime() && (met = await wanted()).length === 0) await sleep(lookMilliseconds);
    if (!isDone && !isHurried) await sleep(random(intoMillisecondsMax));
    expect(await runner.kill()).toBe('');
    meeting.note(await alive());
    isHurried ||= met.some((moment) => meeting.isWanted(moment));
    for (const { id, fence } of await underWay(platform)) claimed.set(id, fence);
    // The runner is dead for sure, so its leases need not run out first.
    await sql`update activities set lease_until = clock_timestamp() where state = 'in_progress'`.execute(platform.db);
  }
  await next.kill();
}

test.runIf(canRunContainers)(
  `killed at every step of backups, deletions and restores, all of them come to a good end, and nobody notices${whyNoContainers}`,
  { timeout: 900_000 },
  async () => {
    const home = await openTestPlatform();
    const owner = await home.person();
    const { projectId } = await sampleProject(owner);
    await using edge = await startRunningEdge();
    const asked = { ...makeMachine(home), edge: edge.options };
    const [seed, meeting] = [randomInt(2 ** 32), new Meeting()];
    try {
      const visit = visitorOf(
        edge.port,
        await deployed(asked, projectId, commitFiles(home.platform.git.path(projectId), undefined, stormFiles)),
      );
      const endVisits = visitConstantly(visit);
      let isOver = false;
      const operating = operate(owner, projectId, visit, seeded(seed), () => meeting.isWhole).finally(() => (isOver = true));
      const raging = storm(home.platform, asked, seeded(seed + 1), meeting, () => isOver);
      await Promise.allSettled([operating, raging]);
      const wrong = await endVisits();
      await raging;
      const { entries, last } = await operating;
      expect(wrong).toEqual([]);
      expect(await visit('GET', '/entries')).toBe(entries.get(last));
      expect(meeting.isWhole).toBe(true);
      await expectAllWell(asked, projectId, entries);
    } catch (error) {
      throw new Error(`With seed ${seed}, after ${meeting.summary}: ${String(error)}`, { cause: error });
    } finally {
      await removeMachine(asked);
    }
  },
);

/** Deploys the commit; answers with the host at which it is reached. */
const deployed = (asked: Asked, projectId: string, commit: string): Promise<string> =>
  whileOpen(asked, async ({ platform }) => {
    const { id } = await beginPush(platform, projectId, commit);
    await workThrough(platform);
    expect(await activityRow(platform, id)).toMatchObject({ result: 'success' });
    const { machine_name } = await platform.db
      .selectFrom('environments')
      .select('machine_name')
      .where('project_id', '=', projectId)
      .executeTakeFirstOrThrow();
    return `${machine_name}-${projectId}.${platform.config.domain}`;
  });

const expectAllWell = (asked: Asked, projectId: string, entries: ReadonlyMap<string, string>): Promise<void> =>
  whileOpen(asked, async ({ platform: { db, secrets, blobs }, machine }) => {
    const activities = await db.selectFrom('activities').select(['type', 'state', 'result']).execute();
    expect(activities.filter(({ state, result }) => state !== 'complete' || result !== 'success')).toEqual([]);
    const { rows } = await sql<{ id: string; restorable: boolean; status: string }>`
      select id, restorable, status from backups order by id`.execute(db);
    expect(rows).toEqual([...entries.keys()].toSorted().map((id) => ({ id, restorable: true, status: 'CREATED' })));
    for (const { id } of rows) {
      const stored = (await backupContent(db, secrets, id))?.stored;
      if (!stored) throw new Error(`Nothing is stored of ${id}`);
      await blobs.verify(projectId, stored);
    }
    expect(await blobs.list(projectId)).toEqual(rows.map(({ id }) => id));
    const volumes = (await machine.volumes.list()).map(({ name }) => name);
    expect(volumes.filter((name) => /^(?:backup|before|incoming|arriving)-/.test(name))).toEqual([]);
    const containers = await machine.runtime.list();
    expect(containers.map(({ status }) => status)).toEqual(['running', 'running']);
  });

async function whileOpen<T>(asked: Asked, work: (running: Awaited<ReturnType<typeof openRunning>>) => Promise<T>): Promise<T> {
  const running = await openRunning(asked);
  try {
    return await work(running);
  } finally {
    await running.leave();
  }
}
