/**
 * One organization has more builds than there are places, which sleep for as long as builds may. Another one pushes to production as if nobody was there; what is
 * cancelled is gone at once.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, whyNoContainers } from '../../server/testing/images.ts';
import { accessToken, send } from '../api.ts';
import { eventually } from '../eventually.ts';
import { createInstallation, plainHttp, type Installation } from '../installation.ts';
import { openProject, read, successful, type Person, type Project } from '../open-project.ts';
import { openWorkingCopy } from '../project.ts';

const startMilliseconds = 400_000;
const greedyProjects = 6;
const heldSecondsMax = 120;
const freedSecondsMax = 30;

const configOf = (hook: string) => `
applications:
  app:
    type: nodejs:24
    hooks: {build: '${hook}'}
    web: {commands: {start: exec node server.mjs}}
routes:
  https://{default}/: {type: upstream, upstream: 'app:http'}
`;
const server = (text: string) => `
import { createServer } from 'node:http';
createServer((_, response) => response.end('${text}')).listen(Number(process.env.PORT));
`;

describe.runIf(canRunContainers)(`a greedy organization${whyNoContainers}`, () => {
  let installation: Installation;
  let modest: Project;
  let mallory: Person;
  const greedy: string[] = [];
  const pushes: Promise<unknown>[] = [];

  const personOf = async (name: string): Promise<Person> => {
    const { url, run } = installation;
    await run(['user', 'create', `${name}@example.org`]);
    const apiToken = (await run(['token', 'create', `${name}@example.org`])).stdout.trim();
    const token = accessToken(url, apiToken);
    return { url, apiToken, accessToken: () => token };
  };
  const asMallory = async (method: string, path: string, body?: unknown) =>
    (await send(installation.url, await mallory.accessToken(), method, path, body)).json;

  beforeAll(async () => {
    installation = await createInstallation(plainHttp);
    await installation.start();
    mallory = await personOf('mallory');
    modest = await openProject(await personOf('ada'));
    await modest.write({ '.upsun/config.yaml': configOf('echo built'), 'server.mjs': server('one') }, 'First');
    await modest.push('main');
  }, startMilliseconds);
  afterAll(async () => {
    for (const { project, id } of await open()) await asMallory('POST', `/projects/${project}/activities/${id}/cancel`, {});
    await Promise.allSettled(pushes);
    await installation?.[Symbol.asyncDispose]();
  }, startMilliseconds);

  interface Build {
    project: string;
    id: string;
    type: string;
    state: string;
    log: string;
  }
  /** What its projects have under way, with what is said of it. */
  const open = async (): Promise<Build[]> => {
    const lists = greedy.map(async (project) => {
      const [last]: Build[] = await asMallory('GET', `/projects/${project}/activities?type=environment.push&count=1`);
      return last ? [{ ...(await asMallory('GET', `/projects/${project}/activities/${last.id}`)), project }] : [];
    });
    return (await Promise.all(lists)).flat().filter(({ state }) => state === 'in_progress');
  };
  const saying = (builds: readonly Build[], text: string) => builds.filter(({ log }) => log.includes(text)).map(({ id }) => id);
  const sleepingIn = (builds: readonly Build[]) => saying(builds, '    asleep').toSorted();

  const pushAll = async () => {
    const { id } = await asMallory('POST', '/organizations', { label: 'Greedy' });
    for (let n = 0; n < greedyProjects; n += 1)
      greedy.push((await asMallory('POST', `/organizations/${id}/projects`, { region: 'offshoot', title: `Greedy ${n}` })).id);
    for (const project of greedy) {
      await eventually(
        'the project is active',
        async () => (await asMallory('GET', `/projects/${project}`)).status?.code !== 'provisioning',
        heldSecondsMax,
      );
      const copy = await openWorkingCopy(installation.url, project, mallory.apiToken);
      await copy.write('.upsun/config.yaml', configOf('echo asleep; sleep 900'));
      await copy.write('server.mjs', server('greedy'));
      await copy.git('add', '--all');
      await copy.git('commit', '--quiet', '-m', 'First');
      // Whoever pushes is told what happens until it is over, which these never are.
      pushes.push(copy.push('main').catch(() => {}));
    }
  };

  test(
    'does not keep another one from building and deploying, and frees at once what is cancelled',
    { timeout: startMilliseconds },
    async () => {
      await pushAll();
      let builds: Build[] = [];
      const isHeld = async () => {
        builds = await open();
        const held = sleepingIn(builds).length;
        return held > 0 && held + saying(builds, 'Waiting for other builds to end.').length === greedyProjects;
      };
      await eventually('all places that it may have are held, and all its other builds wait', isHeld, heldSecondsMax, () =>
        JSON.stringify(builds, undefined, 2),
      );
      const sleeping = sleepingIn(builds);

      await modest.write({ 'server.mjs': server('two') }, 'Second');
      await modest.push('main');
      const { log } = successful(await modest.lastActivity('main'));
      expect(log).toContain('    built');
      expect(log).not.toContain('Waiting for other builds');
      expect(await read(await modest.address('main'), '/')).toBe('two');
      expect(sleepingIn(await open())).toEqual(sleeping);

      const cancelled = builds.find(({ id }) => id === sleeping[0]);
      await asMallory('POST', `/projects/${cancelled?.project}/activities/${cancelled?.id}/cancel`, {});
      const hasNext = async () => {
        const now = sleepingIn(await open());
        return now.length === sleeping.length && !now.includes(cancelled?.id ?? '');
      };
      await eventually('the cancelled one is gone, and the next one builds', hasNext, freedSecondsMax);
    },
  );
});
