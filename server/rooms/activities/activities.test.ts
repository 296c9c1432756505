import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { beforeAll, describe, expect, test } from 'vitest';
import { activity, startActivity, type Activity } from '../../kernel/activity.ts';
import { startRunner } from '../../kernel/runner.ts';
import { workThrough } from '../../testing/activities.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleOrganization } from '../../testing/samples.ts';
import { environment, person, sentence, strong } from './sentence.ts';

let home: TestPlatform;
let owner: Person;
const project_id = 'activitiestest';

/** What the step of a line waits for, beside its time. */
let gate: (line: string) => Promise<void> | undefined = () => undefined;

const happening = activity({
  type: 'environment.test',
  queue: 'internal',
  input: Type.Object({ lines: Type.Array(Type.String()), milliseconds: Type.Integer() }),
  run: async ({ input, log, step }) => {
    for (const line of input.lines) {
      log(line);
      await step(line, async (signal) => {
        await gate(line);
        await new Promise((resolve, reject) => {
          setTimeout(resolve, input.milliseconds);
          signal.addEventListener('abort', () => reject(new Error('stopped')));
        });
      });
    }
  },
});
const definitions = [happening];

const start = (
  environments: { id: string; type: string }[],
  { lines = [] as string[], milliseconds = 0, type = happening.type } = {},
): Promise<Activity> =>
  home.platform.db
    .transaction()
    .execute((tx) =>
      startActivity(
        tx,
        { ...happening, type },
        { project_id, environments, input: { lines, milliseconds }, sentence: sentence`It happened` },
      ),
    );

const dev = { id: 'dev', type: 'development' };
const main = { id: 'main', type: 'production' };
const at = (rest = '') => `/projects/${project_id}/activities${rest}`;
const ids = (json: { id: string }[]) => json.map(({ id }) => id);

beforeAll(async () => {
  home = await openTestPlatform();
  await home.http.listen({ host: '127.0.0.1', port: 0 });
  owner = await home.person();
  const { organization_id } = await sampleOrganization(owner);
  await home.platform.db.insertInto('projects').values({ id: project_id, organization_id, region: 'here', status: 'active' }).execute();
  for (const { id, type } of [dev, main])
    await home.platform.db.insertInto('environments').values({ project_id, id, type, machine_name: id, title: id }).execute();
});

describe('the list', () => {
  test('is newest first, and is filtered and paged as clients do it', async () => {
    const made = [await start([dev]), await start([dev], { type: 'environment.other' }), await start([main]), await start([])];
    await workThrough(home.platform, undefined, [happening, { ...happening, type: 'environment.other' }]);
    const newestFirst = ids(made).toReversed();
    expect(ids((await owner.send('GET', at())).json)).toEqual(newestFirst);
    expect(ids((await owner.send('GET', at('?count=2'))).json)).toEqual(newestFirst.slice(0, 2));
    expect(ids((await owner.send('GET', at('?type=environment.other&type=environment.none'))).json)).toEqual([made[1]?.id]);
    expect(ids((await owner.send('GET', at('?state=pending&state=in_progress'))).json)).toEqual([]);
    expect(ids((await owner.send('GET', at('?state[]=complete&result=success'))).json)).toEqual(newestFirst);
    const second = (await owner.send('GET', at('?count=2'))).json[1];
    const rest = await owner.send('GET', at(`?starts_at=${encodeURIComponent(second.created_at)}`));
    expect(ids(rest.json)).toEqual(newestFirst.slice(1));
    expect(ids((await owner.send('GET', at(`?starts_at=${second.created_at}`))).json)).toEqual(newestFirst.slice(1));
    const ofDev = await owner.send('GET', `/projects/${project_id}/environments/dev/activities`);
    expect(ids(ofDev.json)).toEqual([made[1]?.id, made[0]?.id]);
    for (const [query, field] of [
      ['count=0', 'count'],
      ['count=x', 'count'],
      ['state=odd', 'state.0'],
      ['starts_at=tuesday', 'starts_at'],
    ] as const)
      expect((await owner.send('GET', at(`?${query}`))).json).toMatchObject({ detail: { [field]: expect.any(String) } });
  });

  test.for([
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '1969-12-31T23:59:59Z',
    '9999-01-01T00:00:00-23:59',
    '2026-01-01T00:00:00+2359',
    '2026-01-01T00:00:00+00:60',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:00:60Z',
  ])('does not begin at %s, which is no moment', async (moment) => {
    const reply = await owner.send('GET', at(`?starts_at=${encodeURIComponent(moment)}`));
    expect(reply).toMatchObject({ status: 400, json: { detail: { starts_at: expect.any(String) } } });
  });

  test.for(['2028-02-29T23:59:59.123456Z', '1970-01-01T00:00+14:00', '9998-12-31T23:59:59-1459', '2026-01-31T12:00:00 01:00'])(
    'may begin at %s',
    async (moment) => {
      expect((await owner.send('GET', at(`?starts_at=${moment}`))).status).toBe(200);
    },
  );

  test('shows nobody what happens to environments that they may not see', async () => {
    const [guarded, open] = [await start([main]), await start([dev])];
    await workThrough(home.platform, undefined, definitions);
    const developer = await home.person();
    await owner.send('POST', `/projects/${project_id}/user-access`, [
      { user_id: developer.user.id, permissions: ['viewer', 'development:viewer'], auto_add_member: true },
    ]);
    const seen = ids((await developer.send('GET', at())).json);
    expect([seen.includes(open.id), seen.includes(guarded.id)]).toEqual([true, false]);
    for (const rest of ['', '/log']) expect((await developer.send('GET', at(`/${guarded.id}${rest}`))).status).toBe(404);
    expect((await developer.send('GET', at(`/${open.id}`))).json._links).not.toHaveProperty('#cancel');
    expect((await owner.send('GET', `/projects/${project_id}/environments/dev/activities/${guarded.id}`)).status).toBe(404);
    expect((await owner.send('GET', `/projects/${project_id}/environments/main/activities/${guarded.id}`)).json.id).toBe(guarded.id);
  });
});

describe('a log', () => {
  test('is streamed over HTTP while it grows, from the beginning, and sealed', async () => {
    const words = ['one', 'two', 'three', 'four', 'five'];
    // Each is said only when the one before it has arrived: none is kept back until there are more, or until the end.
    const heard = new Map(words.map((word) => [`${word}\n`, Promise.withResolvers<void>()]));
    gate = (line) => heard.get(`${line}\n`)?.promise;
    const { id } = await start([dev], { lines: words });
    const { port } = home.http.server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/api${at(`/${id}/log?start_at=0`)}`;
    const runner = startRunner(definitions, home.platform);
    const reply = await fetch(url, { headers: { authorization: `Bearer ${owner.accessToken}`, 'accept-encoding': 'gzip' } });
    expect(reply.headers.get('content-type')).toContain('application/x-ndjson');
    const lines: string[] = [];
    const parsed: { _id?: string; data?: { timestamp: string; message: string }; seal?: true }[] = [];
    for await (const line of createInterface({ input: Readable.from(reply.body as unknown as AsyncIterable<Uint8Array>) })) {
      const told = JSON.parse(line);
      lines.push(line);
      parsed.push(told);
      heard.get(told.data?.message)?.resolve();
    }
    await runner.close();
    expect(parsed.map(({ data, seal }) => data?.message ?? seal)).toEqual([...heard.keys(), true]);
    expect(new Set(parsed.map(({ _id }) => _id)).size).toBe(6);
    const again = await owner.send('GET', at(`/${id}/log`));
    expect(again.text).toBe(`${lines.join('\n')}\n`);
    expect((await owner.send('GET', at(`/${id}/log?count=1`))).status).toBe(400);
    expect((await owner.send('GET', at(`/${id}?count=1`))).json).toMatchObject({
      log: [...heard.keys()].join(''),
      completion_percent: 100,
    });
  });

  test('is let go of when whoever watched has gone', async () => {
    const { id } = await start([dev]);
    const { port } = home.http.server.address() as AddressInfo;
    const stop = new AbortController();
    const reply = await fetch(`http://127.0.0.1:${port}${at(`/${id}/log`)}`, {
      headers: { authorization: `Bearer ${owner.accessToken}` },
      signal: stop.signal,
    });
    expect(reply.status).toBe(200);
    await expect.poll(() => home.platform.logs.watched()).toBe(1);
    stop.abort();
    await expect.poll(() => home.platform.logs.watched()).toBe(0);
    await owner.send('POST', at(`/${id}/cancel`));
  });

  test('cannot be made to forge markup in the sentence', () => {
    const hostile = { id: '"><script>', title: '<b>', display_name: 'A&B' };
    const { description, text } = sentence`${person(hostile)} pushed to ${environment(hostile)}'s ${strong('<i>')}`;
    expect(description).toBe(
      '<user data-id="&quot;&gt;&lt;script&gt;">A&amp;B</user> pushed to <environment data-id="&quot;&gt;&lt;script&gt;">&lt;b&gt;</environment>&#39;s <strong>&lt;i&gt;</strong>',
    );
    expect(text).toBe("A&B pushed to <b>'s **<i>**");
  });
});

describe('cancelling', () => {
  test('ends what waits at once, and what runs at its step', async () => {
    const [running, waiting] = [await start([dev], { lines: ['slowly'], milliseconds: 600_000 }), await start([dev])];
    const runner = startRunner(definitions, home.platform);
    await expect.poll(async () => (await owner.send('GET', at(`/${running.id}`))).json.state).toBe('in_progress');
    const cancelled = await owner.send('POST', at(`/${waiting.id}/cancel`));
    expect(cancelled.json._embedded).toMatchObject({
      entity: { state: 'cancelled', result: 'failure', completion_percent: 100 },
      activities: [{ id: waiting.id }],
    });
    expect((await owner.send('POST', at(`/${running.id}/cancel`))).status).toBe(200);
    await expect.poll(async () => (await owner.send('GET', at(`/${running.id}`))).json.state).toBe('cancelled');
    await runner.close();
    expect((await owner.send('GET', at(`/${running.id}/log`))).text).toContain('{"seal":true}');
    for (const { id } of [running, waiting]) {
      const { status, json } = await owner.send('POST', at(`/${id}/cancel`));
      expect({ status, message: json.message }).toEqual({ status: 400, message: 'The activity cannot be cancelled in its current state.' });
    }
  });
});
