/** Real containers behind a real edge. What is measured is said by the first test, and by the kernel in the second; only the clock is ahead, so that nobody waits for minutes. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startRunningEdge, type RunningEdge } from '../../../edge/testing/running-edge.ts';
import { workThrough } from '../../testing/activities.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { openOwners } from '../deployments/public.ts';
import { openSampler } from '../measuring/work.ts';
import { autoscaleAt } from './autoscale.ts';
import { later, measure } from './test-measurements.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const waiting = { timeout: 90_000, interval: 50 };

/** Tells which instance answers, and how often hooks have run; takes its time, so that there is always something under way. While there is a file named busy, it keeps a processor busy. */
const server = `
const { existsSync, readFileSync } = require('node:fs');
const { hostname } = require('node:os');
require('node:http').createServer((request, reply) => {
  setTimeout(() => reply.end(JSON.stringify({ instance: hostname(), hooks: readFileSync('/app/data/hooks', 'utf8') })), 20);
}).listen(process.env.PORT, '0.0.0.0');
setInterval(() => {
  for (const end = Date.now() + 40; existsSync('/app/data/busy') && Date.now() < end;);
}, 50);
`;
const files = {
  'server.js': server,
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    mounts: { data: { source: storage, source_path: data } }
    hooks: { deploy: "echo deploy >>data/hooks", post_deploy: "echo post_deploy >>data/hooks" }
    web: { commands: { pre_start: "touch data/hooks", start: exec node server.js } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
`,
};

describe.runIf(canRunContainers)(`scaling what runs${whyNoContainers}`, () => {
  let edge: RunningEdge;
  let all: TestDeployments;
  beforeAll(async () => {
    all = await openTestDeployments(async (volumes) => {
      edge = await startRunningEdge({ volumes });
      return edge.edge;
    });
    await all.machine.images.ensure('nodejs:22');
  }, imagesMillisecondsMax);
  afterAll(async () => {
    await edge[Symbol.asyncDispose]();
    await all.close();
  });

  /** Visitors who each send one request after the other until stopped. */
  function visitors(host: string, count: number) {
    const seen = { instances: new Set<string>(), hooks: new Set<string>(), wrong: [] as string[] };
    const stop = new AbortController();
    const one = async () => {
      while (!stop.signal.aborted) {
        const { status, body } = await edge.get(host).catch((error: unknown) => ({ status: 0, body: String(error) }));
        if (status !== 200) seen.wrong.push(`${status} ${body}`);
        else {
          const { instance, hooks } = JSON.parse(body);
          seen.instances.add(instance);
          seen.hooks.add(hooks);
        }
      }
    };
    const visiting = Promise.all(Array.from({ length: count }, one));
    const end = async () => {
      stop.abort();
      await visiting;
    };
    return { seen, end };
  }

  test(
    'an instance comes and goes while people visit: no request fails, the first one goes on, and no hook runs',
    { timeout },
    async () => {
      const project = await all.project();
      const { platform } = all.home;
      await project.push(files);
      const { machine_name } = await project.row();
      const settings = { services: { app: { triggers: { cpu: { enabled: true } } } } };
      const at = `/projects/${project.projectId}/environments/main`;
      expect((await project.owner.send('PATCH', `${at}/autoscaling/settings`, settings)).status).toBe(200);
      const [first, hooks] = [await project.instances(), await project.inside('cat /app/data/hooks')];
      const look = async (now: Date, cpu: number) => {
        await measure(platform, { project: project.projectId, environment: machine_name }, now, 6, cpu);
        await autoscaleAt(platform, now);
        await workThrough(platform);
      };

      const { seen, end } = visitors(`${machine_name}-${project.projectId}.offshoot.localhost`, 4);
      await expect.poll(() => seen.instances.size, waiting).toBe(1);
      const start = new Date();
      await look(start, 95);
      expect(await project.instances()).toHaveLength(2);
      await expect.poll(() => seen.instances.size, waiting).toBe(2);
      await look(later(start, 30), 1);
      expect(await project.instances()).toEqual(first);
      expect((await project.found()).containers).toHaveLength(1);
      await end();
      expect(seen.wrong).toEqual([]);
      expect(await project.inside('cat /app/data/hooks')).toBe(hooks);
      expect([...seen.hooks].map((text) => text.trim())).toEqual([hooks]);
    },
  );

  const minuteMilliseconds = 60_000;
  /** As long as a sample is in production, nearly. */
  const sampleMilliseconds = 3000;

  /** Samples what containers use, of so many minutes ahead, and lets the loop decide when the minute of the samples is over. */
  async function measureAndScale(minutesAhead: number) {
    const { platform } = all.home;
    const ahead = (time: Date) => later(time, minutesAhead);
    let at = new Date();
    const statistics = async () => {
      const counted = await all.machine.runtime.statistics();
      at = ahead(new Date());
      return counted.map((each) => ({ ...each, at, startedAt: ahead(each.startedAt) }));
    };
    const look = await openSampler({
      runtime: { statistics },
      volumes: all.machine.volumes,
      owners: openOwners(platform.db),
      metrics: platform.metrics,
      file: join(platform.config.data, `look-${minutesAhead}.json`),
      say: () => {},
    });
    await look(ahead(new Date()));
    await sleep(sampleMilliseconds);
    await look(ahead(new Date()));
    await platform.metrics.settled();
    await autoscaleAt(platform, new Date((Math.floor(at.getTime() / minuteMilliseconds) + 1) * minuteMilliseconds));
    await workThrough(platform);
  }

  test('an app that keeps its processor busy gets a second instance, and has one again when it rests', { timeout }, async () => {
    const project = await all.project();
    await project.push(files);
    const at = `/projects/${project.projectId}/environments/main`;
    // A small share of a processor, which also a machine that does much else can give.
    await project.owner.send('PATCH', `${at}/deployments/next`, { webapps: { app: { resources: { profile_size: '0.1' } } } });
    await workThrough(all.home.platform);
    const cpu = { enabled: true, up: { threshold: 60, duration: 60 }, down: { threshold: 25, duration: 60 } };
    const app = { triggers: { cpu }, instances: { max: 2 }, scale_cooldown: { up: 0, down: 0 } };
    expect((await project.owner.send('PATCH', `${at}/autoscaling/settings`, { services: { app } })).status).toBe(200);
    let minutesAhead = 0;
    const scaled = async () => {
      minutesAhead += 2;
      await measureAndScale(minutesAhead);
      return (await project.instances()).length;
    };

    await expect.poll(scaled, waiting).toBe(1);
    await project.inside('touch /app/data/busy');
    await expect.poll(scaled, waiting).toBe(2);
    await project.inside('rm /app/data/busy');
    await expect.poll(scaled, waiting).toBe(1);
    const { json } = await project.owner.send('GET', `${at}/activities?type=environment.alert`);
    expect(new Set(json.map(({ text }: { text: string }) => text))).toEqual(
      new Set(['Scaling: CPU for app above 60% for 1 minute', 'Scaling: CPU for app below 25% for 1 minute']),
    );
  });
});
