import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { changeQuota } from '../../../../cli/quota.ts';
import { startActivity } from '../../../kernel/activity.ts';
import { activityRow, eachStepTwice, failAtEachStep, workThrough } from '../../../testing/activities.ts';
import { canRunContainers, whyNoContainers } from '../../../testing/images.ts';
import { commitFiles } from '../../../testing/repository.ts';
import { pushActivity } from '../../environments/work.ts';
import { noteMachineAmounts } from './machine-amounts.ts';
import { keepStacksRunning } from '../running/reconcilers.ts';
import { openTestDeployments, type Content, type TestDeployments } from '../../../testing/deployed-project.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const waiting = { timeout: 90_000, interval: 100 };

/** Tells since when it runs; takes memory or processor time as it is asked to. */
const server = `
const held = [];
require('node:http').createServer((request, reply) => {
  const [, what, amount] = request.url.split('/');
  if (what === 'release') { held.length = 0; gc(); }
  if (what === 'hold') held.push(Buffer.alloc(Number(amount) * 2 ** 20, 1));
  if (what === 'burn') for (const until = Date.now() + Number(amount); Date.now() < until; );
  reply.end(JSON.stringify({ since: performance.timeOrigin }));
}).listen(process.env.PORT, '0.0.0.0');
`;

const files = {
  'server.js': server,
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    mounts: { data: { source: storage, source_path: data } }
    hooks: { deploy: "echo the deploy hook ran" }
    web: { commands: { start: exec node --expose-gc server.js } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
`,
};

describe.runIf(canRunContainers)(`resources${whyNoContainers}`, () => {
  let all: TestDeployments;

  beforeAll(async () => {
    all = await openTestDeployments();
    await all.machine.images.ensure('nodejs:22');
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  /** A project whose main branch has the app, and nothing runs. */
  async function pushed(content: Content = files) {
    const project = await all.project();
    const { platform } = all.home;
    const { projectId, owner } = project;
    const at = `/projects/${projectId}/environments/main`;
    const head_commit = commitFiles(platform.git.path(projectId), undefined, content);
    await platform.git.moveBranch(projectId, 'main', undefined, head_commit);
    await platform.db.updateTable('environments').set({ head_commit }).where('project_id', '=', projectId).execute();
    const next = async () => (await owner.send('GET', `${at}/deployments/next`)).json.webapps.app;
    const choose = async (app: object): Promise<{ id: string }> => {
      const { status, json } = await owner.send('PATCH', `${at}/deployments/next`, { webapps: { app } });
      expect({ status, json }).toMatchObject({ status: 200 });
      return json._embedded.activities[0];
    };
    const ended = async ({ id }: { id: string }) => {
      await workThrough(platform);
      const { result } = await activityRow(platform, id);
      const { text } = await owner.send('GET', `/projects/${projectId}/activities/${id}/log`);
      return { result, log: text };
    };
    const visit = async (path: string) => {
      const [first] = await project.instances();
      if (!first || 'socket' in first.address) throw new Error('There is no instance');
      const { host, port } = first.address;
      return (await fetch(`http://${host}:${port}${path}`)).json();
    };
    /** What is refused at once. */
    const post = async (path: string, body: object = {}) => {
      const { status, json } = await owner.send('POST', `${at}${path}`, body);
      return { status, message: json.message };
    };
    const container = async () => (await project.instances())[0]?.id ?? '';
    return {
      ...project,
      at,
      head_commit,
      next,
      choose,
      post,
      visit,
      container,
      ended,
      set: async (app: object) => ended(await choose(app)),
    };
  }

  test('sizes that are chosen for an inactive environment activate it with them', { timeout }, async () => {
    const { next, set, row, owner, at } = await pushed();
    expect(await next()).toMatchObject({ resources: { profile_size: '0.5' }, instance_count: 1, disk: 512 });
    const { result, log } = await set({ resources: { profile_size: '0.25' }, disk: 256 });
    expect({ result, log }).toMatchObject({
      result: 'success',
      log: expect.stringMatching(/Setting 'app' resources to 0\.25 CPU, 128MB RAM/),
    });
    expect(await row()).toMatchObject({ status: 'active', chosen_sizes: {} });
    const current = (await owner.send('GET', `${at}/deployments/current`)).json;
    expect(current.webapps.app).toMatchObject({ resources: { profile_size: '0.25' }, instance_count: 1, disk: 256 });
    expect((await owner.send('GET', at)).json.sizing.webapps.app).toEqual({
      resources: { profile_size: '0.25', disk: { object: null } },
      instance_count: 1,
      disk: 256,
    });
  });

  test(
    'instances come and go beside those that run, and nobody waits; the deploy hook has nothing to do with it',
    { timeout },
    async () => {
      const project = await pushed();
      const { set, visit, instances } = project;
      expect((await set({ disk: 256 })).log).toContain('the deploy hook ran');
      const [before, first] = [await visit('/'), await instances()];
      all.edge.told.length = 0;
      const grown = await set({ instance_count: 3 });
      expect(grown.result).toBe('success');
      expect(grown.log).toContain("Setting 'app' instances to 3.");
      expect(grown.log).not.toContain('the deploy hook ran');
      expect(await instances()).toHaveLength(3);
      expect(await project.inside('jq -c keys /run/peers.json')).toContain('["app.0","app.1","app.2"]');
      expect(await instances()).toEqual(expect.arrayContaining([...first]));
      expect((await project.found()).containers).toEqual(['…-app-app-1-0', '…-app-app-1-1', '…-app-app-1-2']);
      expect((await set({ instance_count: 1 })).result).toBe('success');
      expect([await instances(), await visit('/')]).toEqual([first, before]);
      expect((await project.found()).containers).toEqual(['…-app-app-1-0']);
      expect(all.edge.told.map((line) => line.split(' ')[1])).toEqual(['open', 'open']);
    },
  );

  test('limits hold: of the processor, of memory and of disks; they change while the app runs', { timeout }, async () => {
    const { set, visit, container, inside, owner, at } = await pushed();
    const { runtime } = all.machine;
    await set({ resources: { profile_size: '0.5' }, disk: 256 });
    const running = await visit('/');
    const shareOfProcessor = async () => {
      const [started, before] = [performance.now(), await runtime.stats(await container())];
      await visit('/burn/1000');
      const { cpuSeconds } = await runtime.stats(await container());
      return (cpuSeconds - before.cpuSeconds) / ((performance.now() - started) / 1000);
    };
    expect(await shareOfProcessor()).toBeLessThan(0.62);

    await visit('/hold/120');
    const tooSmall = await set({ resources: { profile_size: '0.25' } });
    expect(tooSmall).toMatchObject({
      result: 'failure',
      log: expect.stringContaining("Application 'app' uses more memory than the 128 MB of its new size. Redeploy to restart it"),
    });
    expect(await visit('/release')).toEqual(running);

    const write = 'dd if=/dev/zero of=/app/data/large bs=1M count=300 conv=fsync 2>&1; true';
    expect(await inside(write)).toMatch(/No space left on device|Disk quota exceeded/);
    expect((await owner.send('PATCH', `${at}/deployments/next`, { webapps: { app: { disk: 255 } } })).json.detail).toEqual({
      'webapps.app.disk': expect.stringMatching(/at least 256 MB/),
    });
    const resized = await set({ disk: 512 });
    expect(resized.result).toBe('success');
    expect(resized.log).toMatch(/Setting 'app' resources to 0\.25 CPU, 128MB RAM\..*Setting 'app' disk to 512MB\./s);
    expect(await inside(write)).not.toMatch(/No space left|quota exceeded/);
    expect(await inside('jq -c .info.limits /run/config.json')).toContain('{"cpu":0.25,"memory":128}');
    expect((await owner.send('PATCH', `${at}/deployments/next`, { webapps: { app: { disk: 500 } } })).json.detail).toEqual({
      'webapps.app.disk': expect.stringMatching(/less than the 512 MB that it has/),
    });
    expect(await visit('/')).toEqual(running);
    expect(await shareOfProcessor()).toBeLessThan(0.35);

    await expect(visit('/hold/120')).rejects.toThrow('fetch failed');
    await expect.poll(async () => (await runtime.state(await container())).exit, waiting).toMatchObject({ outOfMemory: true });
    await expect.poll(() => visit('/').catch(() => undefined), waiting).toMatchObject({ since: expect.any(Number) });
    await keepStacksRunning.run(all.home.platform, new AbortController().signal);
    expect(await inside('cat /var/log/app.log')).toMatch(/app ran out of memory and was started again/);
  });

  /** As if the machine were that small. */
  async function inSmallMachine<T>(kind: 'memory' | 'disk', work: () => Promise<T>): Promise<T> {
    const { config } = all.home.platform;
    const { overcommit } = config;
    config.overcommit = { ...overcommit, [kind]: 1e-6 };
    try {
      return await work();
    } finally {
      config.overcommit = overcommit;
    }
  }
  const noteMachine = () => noteMachineAmounts.run(all.home.platform, new AbortController().signal);

  test(
    'what cannot fit into the machine is refused with the reply, which says what is full, and nothing changes',
    { timeout },
    async () => {
      const { set, next, owner, at, choose, ended, post, does, row } = await pushed();
      expect((await set({ resources: { profile_size: '0.25' }, disk: 256 })).result).toBe('success');
      await noteMachine();
      const full = (what: RegExp) => ({ status: 409, message: expect.stringMatching(what) });
      const refused = await inSmallMachine('memory', async () => {
        const { status, json } = await owner.send('PATCH', `${at}/deployments/next`, {
          webapps: { app: { resources: { profile_size: '0.5' } } },
        });
        return { status, message: json.message };
      });
      expect(refused).toEqual(full(/^This machine is full\. memory: 224 MB are needed, others have .* Choose smaller sizes, or pause/));
      expect(await next()).toMatchObject({ resources: { profile_size: '0.25' } });

      // What has become too much meanwhile is refused by the activity, and what was chosen stays so.
      const chosen = await choose({ resources: { profile_size: '0.5' } });
      const failed = {
        result: 'failure',
        log: expect.stringMatching(/Invalid deployment: This machine is full\. memory: 224 MB are needed/),
      };
      expect(await inSmallMachine('memory', () => ended(chosen))).toMatchObject(failed);
      expect(await next()).toMatchObject({ resources: { profile_size: '0.5' } });
      expect((await set({ instance_count: 1 })).result).toBe('success');

      await does('pause');
      expect(await inSmallMachine('memory', () => post('/resume'))).toEqual(full(/^This machine is full\. memory: 224 MB are needed/));
      expect(await inSmallMachine('memory', () => post('/redeploy'))).toEqual(full(/^This machine is full/));
      const resumed = await owner.send('POST', `${at}/resume`);
      expect(await inSmallMachine('memory', () => ended(resumed.json._embedded.activities[0]))).toMatchObject(failed);
      expect(await row()).toMatchObject({ status: 'paused' });
      expect((await ended((await owner.send('POST', `${at}/resume`)).json._embedded.activities[0])).result).toBe('success');
      expect((await inSmallMachine('memory', () => post('/redeploy'))).status).toBe(200);
    },
  );

  test('a branch for which there is no room is refused, and does not come about', { timeout }, async () => {
    const { set, owner, at, ended, post, projectId } = await pushed();
    expect((await set({ disk: 256 })).result).toBe('success');
    await noteMachine();
    const wanted = { name: 'crowded', title: 'Crowded' };
    const isThere = async () => (await owner.send('GET', `/projects/${projectId}/environments/crowded`)).status;
    const refused = await inSmallMachine('disk', () => post('/branch', wanted));
    expect(refused).toEqual({ status: 409, message: expect.stringMatching(/^This machine is full\. disk: 806 MB are needed/) });
    expect(await isThere()).toBe(404);
    const { json } = await owner.send('POST', `${at}/branch`, wanted);
    const [branching] = json._embedded.activities;
    const failed = await inSmallMachine('disk', () => ended(branching));
    expect(failed).toMatchObject({ result: 'failure', log: expect.stringMatching(/This machine is full\. disk: 806 MB are needed/) });
    expect(await isThere()).toBe(404);
    const redeployed = async () => ended((await owner.send('POST', `${at}/redeploy`, {})).json._embedded.activities[0]);
    expect((await inSmallMachine('disk', redeployed)).result).toBe('success');
  });

  test('what the operator allows a project or its organization is not exceeded, and the refusal names the limit', { timeout }, async () => {
    const { set, owner, at, ended, post, projectId } = await pushed();
    const { db } = all.home.platform;
    const { name } = await db
      .selectFrom('organizations')
      .innerJoin('projects', 'projects.organization_id', 'organizations.id')
      .select('organizations.name')
      .where('projects.id', '=', projectId)
      .executeTakeFirstOrThrow();
    const over = (what: RegExp) => ({ status: 402, message: expect.stringMatching(what) });
    await changeQuota(db, ['project', projectId, 'memory=200', 'environments=1']);
    const memory = /^The project \w+ would exceed its quota\. memory: 224 MB are needed, .*and 200 MB are allowed\. Choose/;
    expect(await post('/activate')).toEqual(over(memory));
    expect((await owner.send('PATCH', `${at}/deployments/next`, { webapps: { app: { disk: 256 } } })).json.message).toMatch(memory);
    await changeQuota(db, ['project', projectId, 'memory=300']);
    expect((await set({ resources: { profile_size: '0.5' }, disk: 256 })).result).toBe('success');
    const second = { name: 'second', title: 'Second' };
    expect(await post('/branch', second)).toEqual(
      over(/environments: it has 1, and 1 are allowed; memory: 224 MB are needed, its other environments have 224 MB/),
    );
    await changeQuota(db, ['project', projectId, 'memory=none', 'environments=none']);
    const { json } = await owner.send('POST', `${at}/branch`, second);
    await changeQuota(db, ['organization', name, 'cpu=0.75']);
    const organization = /The organization \S+ would exceed its quota\. processors: 0\.5 CPU are needed, .* and 0\.75 CPU are allowed/;
    expect(await ended(json._embedded.activities[0])).toMatchObject({ result: 'failure', log: expect.stringMatching(organization) });
    expect(await post('/branch', second)).toEqual(over(organization));
    expect((await ended((await owner.send('POST', `${at}/redeploy`, {})).json._embedded.activities[0])).result).toBe('success');
    expect(await changeQuota(db, ['organization', name, 'cpu=1'])).toContain(
      `organization ${name}: projects 1 of 100, environments 1 of 500, cpu 0.5 of 1 CPU`,
    );
    const branched = (await owner.send('POST', `${at}/branch`, second)).json._embedded.activities[0];
    expect((await ended(branched)).result).toBe('success');
    await expect(changeQuota(db, ['project', projectId, 'memory=much'])).rejects.toThrow('memory=much is not a limit');
    await expect(changeQuota(db, ['project', projectId, 'projects=1'])).rejects.toThrow('Only an organization has a limit of projects');
  });

  test('builds get what the project says, and not more', { timeout }, async () => {
    const build = 'node -e "Buffer.alloc(300 * 2 ** 20, 1)" && echo built in full';
    const yaml = files['.upsun/config.yaml'].replace('hooks: {', `hooks: { build: '${build}',`);
    const { owner, projectId, set } = await pushed({ ...files, '.upsun/config.yaml': yaml });
    const give = (memory: number) => owner.send('PATCH', `/projects/${projectId}/settings`, { build_resources: { memory } });
    await give(200);
    const failed = await set({ disk: 256 });
    expect(failed).toMatchObject({
      result: 'failure',
      log: expect.stringContaining('more memory than builds of this project have (200 MB)'),
    });
    await give(600);
    expect(await set({ disk: 256 })).toMatchObject({ result: 'success', log: expect.stringContaining('built in full') });
  });

  test('where sizes are chosen by hand, nothing is deployed until they are', { timeout }, async () => {
    const { projectId, head_commit, ended, next, set } = await pushed();
    const push = (deploying: object) =>
      all.home.platform.db.transaction().execute((tx) =>
        startActivity(tx, pushActivity, {
          project_id: projectId,
          environments: [{ id: 'main', type: 'production' }],
          input: { from: null, to: head_commit, activate: true, deploying },
        }),
      );
    const refused = { result: 'failure', log: expect.stringContaining("Invalid deployment: Resources must be configured for 'app'.") };
    expect(await ended(await push({ init: 'manual' }))).toMatchObject(refused);
    expect(await next()).toMatchObject({ resources: { profile_size: null, minimum: { cpu: 0.1 } }, instance_count: null, disk: null });
    expect(await ended(await push({}))).toMatchObject(refused);
    expect(await set({ instance_count: 2 })).toMatchObject(refused);
    expect((await set({ resources: { profile_size: '0.1' } })).result).toBe('success');
    expect(await next()).toMatchObject({ resources: { profile_size: '0.1' }, instance_count: 2, disk: 512 });
  });

  test(
    'each step of choosing sizes can be done twice, and one that fails leaves what runs as it was',
    { timeout: 2 * timeout },
    async () => {
      const { set, choose, instances, visit, found, next } = await pushed();
      await set({ disk: 256 });
      await eachStepTwice(all.home.platform, () => choose({ instance_count: 2, disk: 300 }));
      expect([await instances(), await next()]).toMatchObject([{ length: 2 }, { instance_count: 2, disk: 300 }]);
      const [before, there] = [await visit('/'), await found()];
      let isSettled = false;
      await failAtEachStep(
        all.home.platform,
        () => choose({ instance_count: 3, resources: { profile_size: '1' } }),
        async (step) => {
          isSettled ||= step === 'clean up';
          expect([step, await visit('/'), (await instances()).length]).toEqual([step, before, isSettled ? 3 : 2]);
          expect((await found()).containers.length).toBe(there.containers.length + (isSettled ? 1 : 0));
          expect(await next()).toMatchObject({ instance_count: 3, resources: { profile_size: '1' } });
        },
      );
      expect([await instances(), await visit('/')]).toMatchObject([{ length: 3 }, before]);
    },
  );
});
