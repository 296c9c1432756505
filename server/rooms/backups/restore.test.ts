import { request as httpRequest } from 'node:http';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startRunningEdge, type RunningEdge } from '../../../edge/testing/running-edge.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { drillFiles, drillTypes, entriesOf, fill, openDrill, stateOf, type DrilledProject } from './test-drill.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const waiting = { timeout: 90_000 };
const writtenMin = 3;
const lookMilliseconds = 20;
const sanitize = `{ sanitize: "date +%s >>files/entries-sanitized" }`;

describe.runIf(canRunContainers)(`a disaster drill${whyNoContainers}`, () => {
  let edge: RunningEdge;
  let all: TestDeployments;
  let project: DrilledProject;
  let [live, safe] = ['', ''];
  let known: Awaited<ReturnType<typeof stateOf>>;
  let acknowledged = { before: 0, after: 0 };

  const visit = async (path = '/', method = 'GET') => {
    const host = `${(await project.row()).machine_name}-${project.projectId}.offshoot.localhost`;
    const sent = httpRequest({ port: edge.port, host: '127.0.0.1', path, method, headers: { host }, agent: false }).end();
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
    sent.on('error', reject).on('response', (reply) => {
      void text(reply).then((body) => resolve({ status: reply.statusCode ?? 0, body }), reject);
    });
    return promise;
  };

  /** Sends one request after the other until stopped; counts the replies, and notes failures and the longest time. */
  const keepVisiting = (next: (n: number) => Promise<{ status: number; body: string }>) => {
    const seen = { answered: 0, longestMilliseconds: 0, wrong: [] as string[] };
    const stopping = new AbortController();
    const visiting = (async () => {
      while (!stopping.signal.aborted) {
        const startedAt = performance.now();
        const { status, body } = await next(seen.answered + 1);
        seen.longestMilliseconds = Math.max(seen.longestMilliseconds, performance.now() - startedAt);
        if (status === 200) seen.answered += 1;
        else seen.wrong.push(`${status} ${body.slice(0, 100)}`);
      }
    })();
    visiting.catch(() => {});
    const stop = async () => {
      stopping.abort();
      await visiting;
      return seen;
    };
    return { seen, stop };
  };

  const loseSlugs = async () => {
    const { db } = all.home.platform;
    const slugs = await db.deleteFrom('slugs').where('project_id', '=', project.projectId).returning('volume').execute();
    for (const { volume } of slugs) await all.machine.volumes.remove(volume);
  };

  beforeAll(async () => {
    all = await openTestDeployments(async (volumes) => {
      edge = await startRunningEdge({ volumes });
      return edge.edge;
    });
    for (const type of drillTypes) await all.machine.images.ensure(type);
    project = await openDrill(all);
    await project.act('/variables', { name: 'env:COLOR', value: 'red' });
    await project.release(drillFiles('one', { hooks: sanitize }));
    await fill(project);
    known = await stateOf(project);
    const writer = keepVisiting((n) => visit(`/?n=${n}`, 'POST'));
    while (writer.seen.answered < writtenMin) await sleep(lookMilliseconds);
    acknowledged.before = writer.seen.answered;
    live = await project.backUp(false);
    acknowledged.after = writer.seen.answered;
    safe = await project.backUp(true);
    while (writer.seen.answered === acknowledged.before && writer.seen.wrong.length === 0) await sleep(lookMilliseconds);
    const { wrong, answered } = await writer.stop();
    if (wrong.length > 0 || answered === acknowledged.before) throw new Error(`Writing failed: ${wrong.join(', ')}`);
    const { db } = all.home.platform;
    await db.updateTable('environment_variables').set({ value: 'blue' }).where('project_id', '=', project.projectId).execute();
  }, imagesMillisecondsMax);
  afterAll(async () => {
    await edge[Symbol.asyncDispose]();
    await all.close();
  });

  test(
    'an environment that was destroyed comes back as it was: every row and every file, the code and the variables',
    { timeout },
    async () => {
      await project.does('remove');
      await loseSlugs();
      expect(await project.found()).toEqual({ containers: [], volumes: [] });
      const { log, payload, environments } = await project.restore(safe);
      expect(log).toMatch(
        /Fetching the build of app\n.*Fetching the data of backup .*Creating environment main, from backup .*Opening environment/s,
      );
      expect([payload, environments]).toMatchObject([
        { environment: 'main', backup_name: safe, commit: (await project.row()).head_commit },
        ['main'],
      ]);
      expect(await stateOf(project)).toEqual(known);
      const entries = await entriesOf(project);
      expect(entries).toEqual([entries[0], entries[0], entries[0], entries[0]]);
      expect(entries[0]).toBeGreaterThanOrEqual(acknowledged.before);
      expect(JSON.parse((await visit()).body)).toMatchObject({ version: 'one', color: 'red' });
      expect((await project.found()).volumes.every((name) => name.startsWith('stack-'))).toBe(true);
    },
  );

  test('over what runs it comes back in the code of then, and no request fails; no commit is pinned', { timeout }, async () => {
    await project.release(drillFiles('two'));
    await project.inside('dash /app/client.sh pg "drop table things"; dash /app/client.sh keys flushall');
    rmSync(join(await project.folder('storage-app'), 'files/known'), { recursive: true });
    const visitor = keepVisiting(() => visit());
    await project.restore(live);
    await expect.poll(async () => (await visit()).status, waiting).toBe(200);
    await expect.poll(() => visitor.seen.answered, waiting).toBeGreaterThan(10);
    const { wrong, longestMilliseconds, answered } = await visitor.stop();
    expect([wrong, answered > 10, longestMilliseconds < 60_000]).toEqual([[], true, true]);
    expect(await stateOf(project)).toEqual(known);
    const [pg, ...others] = await entriesOf(project);
    expect(pg).toBeGreaterThanOrEqual(acknowledged.before);
    expect(pg).toBeLessThanOrEqual(acknowledged.after + 1);
    // All counts are of one moment: an entry that was being written is in the first places, and not yet in the others.
    for (const [index, count] of others.entries()) expect([pg, pg - 1], `place ${index}`).toContain(count);
    expect(JSON.parse((await visit()).body)).toMatchObject({ version: 'one' });
    expect((await project.row()).pinned_commit).toBeNull();
    expect((await project.found()).volumes.every((name) => name.startsWith('stack-'))).toBe(true);
  });

  test('into a new environment it goes with a branch, accounts and variables of its own, and sanitized', { timeout }, async () => {
    await project.restore(safe, { environment_name: 'copy', resources: { init: 'minimum' } });
    expect(await project.row('copy')).toMatchObject({ parent: 'main', status: 'active', head_commit: (await project.row()).head_commit });
    expect(await stateOf(project, 'copy')).toEqual(known);
    expect(await project.ask('copy')).toMatchObject({ version: 'one', color: 'blue' });
    const sanitized = (environment: string) => project.inside('ls files | grep -c sanitized || true', environment);
    expect([await sanitized('copy'), await sanitized('main')]).toEqual(['1', '0']);
    const password = (environment: string) => project.inside('echo $PG_PASSWORD', environment);
    expect(await password('copy')).not.toEqual(await password('main'));
  });
});
