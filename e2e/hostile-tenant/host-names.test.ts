/**
 * Another tenant's host name: a hostile project asks for names that are not its own, in every spelling, to get the visitors and cookies of others or of the
 * console. It is refused before anything is built, and whoever has a name keeps it, whatever is deployed, killed or read again.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EdgeStatus } from '../../edge/process/control.ts';
import { openControlClient } from '../../server/drivers/edge/control-client.ts';
import { createInstallation, plainHttp, type Installation } from '../installation.ts';
import { firstPerson, openProject, type Person, type Project } from '../open-project.ts';
import { signal } from '../processes.ts';
import { visit } from '../visit.ts';

const timeout = 300_000;
const soonMilliseconds = 60_000;

const site = (says: string, ...hosts: string[]) => ({
  '.upsun/config.yaml': `
applications: { site: { type: 'static:1', web: { locations: { /: { root: '', index: [index.html] } } } } }
routes: { ${hosts.map((host) => `'https://${host}/': { type: upstream, upstream: 'site:http' }`).join(', ')} }
`,
  'index.html': says,
});

let installation: Installation;
let person: Person;

beforeAll(async () => {
  installation = await createInstallation(plainHttp);
  person = await firstPerson(installation.url, await installation.start());
}, timeout);
afterAll(() => installation?.[Symbol.asyncDispose](), timeout);

/** Answers what the push said, also where it was refused. */
const pushed = async (project: Project, ...[says, ...hosts]: Parameters<typeof site>) => {
  await project.write(site(says, ...hosts), 'Change');
  return project.push('main');
};
/** Each project is in an organization of its own. */
const tenant = async (says: string, ...hosts: string[]) => {
  const project = await openProject(person);
  expect(await pushed(project, says, ...hosts)).toContain('Opening environment');
  return project;
};
const generated = async (project: Project, environment = 'main'): Promise<string> => (await project.environment(environment)).edge_hostname;
const answer = async (host: string) => {
  const { status, text } = await visit(`http://127.0.0.1:${installation.edgePort}/`, { headers: { host } });
  return status === 200 ? text.trim() : status;
};
const controlOfEdge = () => openControlClient(join(installation.data, 'edge', 'control.sock'));
const statusOfEdge = async () => {
  const control = controlOfEdge();
  try {
    return (await control.ask('GET', '/status')) as EdgeStatus;
  } finally {
    control.close();
  }
};

test(
  'names of others, of branches to come, of the platform and of everybody are refused, naming each route, and nothing is built',
  { timeout },
  async () => {
    const custom = 'www.xn--bcher-kva.example';
    const [shop, attacker] = [await tenant('the shop', '{default}', custom), await openProject(person)];
    const [main, domain] = [await generated(shop), (await generated(shop)).split('.').slice(1).join('.')];
    const pushes = [
      [
        main,
        `login.${main}`,
        `*.${main}`,
        `staging-5em2ouy-${shop.project}.${domain}`,
        `*.${domain}`,
        domain,
        `console.${domain}`,
        '*.localhost',
      ],
      [`${main.toUpperCase()}.`, custom, '127.0.0.1', 'localhost', '*.example'],
      [`${custom.toUpperCase()}.`, '*.xn--bcher-kva.example'],
    ];
    for (const some of pushes) {
      const said = await pushed(attacker, 'stolen', '{default}', ...some);
      for (const host of some)
        expect(said).toMatch(new RegExp(`routes: https://${host.toLowerCase().replaceAll(/[.*]/g, '\\$&')}/ is at `));
      expect(said).not.toContain('Building');
    }
    expect((await attacker.environment('main')).status).toBe('inactive');
    for (const host of [main, `login.${main}`, custom, `console.${domain}`, domain])
      expect([host, await answer(host)]).not.toEqual([host, 'stolen']);
    expect([await answer(main), await answer(custom), await answer(`${main.toUpperCase()}.`)]).toEqual([
      'the shop',
      'the shop',
      'the shop',
    ]);
  },
);

test('what a branch will be called cannot be told from its name, and its visitors are its own', { timeout }, async () => {
  const [shop, attacker] = [await tenant('the shop', '{default}'), await tenant('the attacker', '{default}', '*.{default}')];
  expect(await answer(`any.${await generated(attacker)}`)).toBe('the attacker');
  await shop.act('/environments/main/branch', { name: 'staging', title: 'Staging' });
  const staging = await generated(shop, 'staging');
  expect(staging).not.toMatch(/^staging-5em2ouy-/);
  expect((await generated(shop)).split('-')[1]).not.toBe((await generated(attacker)).split('-')[1]);
  expect([await answer(staging), await answer(await generated(shop))]).toEqual(['the shop', 'the shop']);
});

test(
  'a host stays whose it is when another deploys, when the edge is killed and reads its table again, and is free when its owner is gone',
  { timeout },
  async () => {
    const custom = 'www.owned.example';
    const [shop, attacker] = [await tenant('the shop', '{default}', custom), await tenant('the attacker', '{default}')];
    const steal = () => pushed(attacker, 'stolen', '{default}', custom);
    expect(await steal()).toContain(`routes: https://${custom}/ is at ${custom}, which belongs to another project; choose another host.`);
    const { pid } = await statusOfEdge();
    signal(pid, 'SIGKILL');
    await expect.poll(async () => (await statusOfEdge()).pid, { timeout: soonMilliseconds }).not.toBe(pid);
    await expect.poll(() => answer(custom).catch(() => 'nobody'), { timeout: soonMilliseconds }).toBe('the shop');
    expect([await answer(await generated(shop)), await answer(await generated(attacker))]).toEqual(['the shop', 'the attacker']);
    expect((await statusOfEdge()).contested).toEqual([]);

    await shop.act('/environments/main/pause');
    expect(await steal()).toContain('which belongs to another project; choose another host.');
    expect(await answer(custom)).toBe(503);
    await shop.api('DELETE', '');
    await expect.poll(() => answer(custom), { timeout: soonMilliseconds }).toBe(404);
    expect(await steal()).toContain('Opening environment');
    expect(await answer(custom)).toBe('stolen');
  },
);
