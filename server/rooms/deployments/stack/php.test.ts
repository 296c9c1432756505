/** Real PHP behind a real edge, with fewer, as many and more visitors than it can answer at once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startRunningEdge, type RunningEdge } from '../../../../edge/testing/running-edge.ts';
import { openTestDeployments, type Content, type TestDeployments } from '../../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../../testing/images.ts';

const imagesMillisecondsMax = 600_000;
const visitsMillisecondsMin = 700;

/** With `together` a request is answered once so many are here at the same time. */
const script = `<?php
header('Content-Type: text/plain');
if (isset($_GET['slow'])) usleep((int) $_GET['slow'] * 1000);
if (isset($_GET['together'])) {
  touch('/tmp/here-' . getmypid());
  $until = microtime(true) + 8;
  while (($here = count(glob('/tmp/here-*'))) < $_GET['together'] && microtime(true) < $until) usleep(5000);
  exit("$here at once");
}
echo 'answered';
`;

const php: Content = {
  '.upsun/config.yaml': `
applications:
  app:
    type: php:8.4
    runtime: { sizing_hints: { request_memory: 10, reserved_memory: 70 } }
    build: { flavor: none }
    web: { locations: { /: { root: web, passthru: /index.php } } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
`,
  'web/index.php': script,
};

describe.runIf(canRunContainers)(`PHP${whyNoContainers}`, () => {
  let edge: RunningEdge;
  let all: TestDeployments;
  let project: Awaited<ReturnType<TestDeployments['project']>>;
  let childrenMax: number;
  let visit: (path?: string) => Promise<{ status: number; body: string }>;

  beforeAll(async () => {
    all = await openTestDeployments(async (volumes) => {
      edge = await startRunningEdge({ processes: 2, volumes });
      return edge.edge;
    });
    project = await all.project();
    await project.push(php, { init: 'default' });
    const host = `${(await project.row()).machine_name}-${project.projectId}.offshoot.localhost`;
    visit = (path) => edge.get(host, path);
    childrenMax = Number(await project.inside("sed -n 's/^pm.max_children = //p' /run/php-fpm.conf"));
  }, imagesMillisecondsMax);
  afterAll(async () => {
    await all.close();
    await edge[Symbol.asyncDispose]();
  });

  /** Each comes again as soon as it was answered; how often each was, once a while has passed and all were answered to the end. */
  async function answersOf(visitors: number): Promise<number[]> {
    const over = performance.now() + visitsMillisecondsMin;
    const keepComing = async () => {
      let answers = 0;
      do {
        expect(await visit()).toEqual({ status: 200, body: 'answered' });
        answers++;
      } while (performance.now() < over);
      return answers;
    };
    return Promise.all(Array.from({ length: visitors }, keepComing));
  }

  test('as many requests as fit are answered at the same time, though they came at once, and one more after them', async () => {
    const requests = Array.from({ length: childrenMax }, () => visit(`/?together=${childrenMax}`));
    const bodies = (await Promise.all([...requests, visit()])).map(({ body }) => body);
    expect(bodies).toEqual([...requests.map(() => `${childrenMax} at once`), 'answered']);
  });

  test('however many visitors keep coming, each is answered as often as the others', async () => {
    expect(childrenMax).toBeGreaterThan(1);
    for (const visitors of [1, 2, 3, childrenMax, childrenMax + 1]) {
      const answers = await answersOf(visitors);
      expect([visitors, Math.min(...answers) / Math.max(...answers)]).toEqual([visitors, expect.toSatisfy((share: number) => share > 0.3)]);
    }
  });

  test('requests that wait when the environment is paused are answered before it', async () => {
    const requests = Array.from({ length: 3 * childrenMax }, () => visit('/?slow=300'));
    await Promise.race(requests);
    await project.does('pause');
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect((await visit()).status).toBe(503);
    await project.does('resume');
  });
});
