import { expect, test } from 'vitest';
import { createInstallation, plainHttp } from './installation.ts';
import { firstPerson, openProject, read, successful } from './open-project.ts';
import { mismatchesIn } from './published-replies.ts';
import { shopFiles } from './shop.ts';
import { visit, visitConstantly } from './visit.ts';

const lifeMilliseconds = 400_000;
/** For what a worker, or the edge, does in its own time. */
const soonMilliseconds = 60_000;

const sell = (address: string, n: number, what = 'thing') => visit(new URL(`/?n=${n}&what=${what}`, address).href, { method: 'POST' });

test(
  'a stack is pushed, branched with its data, changed on both sides, synchronized, merged, paused, resumed, deactivated and deleted',
  { timeout: lifeMilliseconds },
  async () => {
    await using installation = await createInstallation(plainHttp);
    const person = await firstPerson(installation.url, await installation.start());
    const shop = await openProject(person);

    await shop.write(shopFiles('one'), 'First');
    const pushed = await shop.push('main');
    expect(pushed).toContain("Building application 'shop'");
    expect(pushed).toContain('preparing the database');
    const main = await shop.address('main');
    expect(pushed).toContain(main);
    expect(await read(main, '/')).toBe('one');
    expect(await shop.environment('main')).toMatchObject({ status: 'active', has_deployment: true });
    for (const n of [1, 2, 3]) expect((await sell(main, n, n === 3 ? 'secret' : 'thing')).text).toBe('sold');
    await expect.poll(() => read(main, '/clerk'), { timeout: soonMilliseconds }).toBe('at work in main');
    expect(Number(await read(main, '/visits'))).toBe(1);
    await expect.poll(() => shop.log('main', 'shop', 'access'), { timeout: soonMilliseconds }).toMatch(/"GET \/visits HTTP\/1\.1" 200 /);
    expect(await shop.log('main', 'shop', 'deploy')).toMatch(/Launching deploy hook\n(?:.*\n)*.*preparing the database/);

    await shop.act('/environments/main/branch', { name: 'feature/more', title: 'More' });
    const branch = await shop.address('feature/more');
    expect(branch).not.toBe(main);
    expect(await read(branch, '/sales')).toBe('3');
    const { data_taken_at: branchedAt } = await shop.environment('feature/more');
    expect(await shop.environment('feature/more')).toMatchObject({ data_taken_from: 'main', data_taken_at: expect.any(String) });
    expect(await shop.environment('main')).toMatchObject({ data_taken_from: null, data_taken_at: null });
    expect(await read(branch, '/files')).toBe('3');
    expect(await read(branch, '/whats')).toBe('sanitized,thing');
    expect(await read(main, '/whats')).toBe('secret,thing');

    await sell(branch, 10);
    await sell(main, 4);
    await sell(main, 5);
    expect([await read(main, '/sales'), await read(branch, '/sales')]).toEqual(['5', '4']);
    const [mainTold, branchTold] = [JSON.parse(await read(main, '/told')), JSON.parse(await read(branch, '/told'))];
    expect(branchTold.DATABASE_PASSWORD).not.toBe(mainTold.DATABASE_PASSWORD);
    expect(branchTold).toMatchObject({
      PLATFORM_BRANCH: 'feature/more',
      PLATFORM_ENVIRONMENT_TYPE: 'development',
      PLATFORM_APP_DIR: '/app',
    });

    const told = await mismatchesIn(person, shop.project, 'feature/more');
    expect(Object.keys(told).length).toBeGreaterThan(30);
    expect(Object.entries(told).filter(([, mismatches]) => mismatches.length > 0)).toEqual([]);

    await shop.act('/environments/feature%2Fmore/synchronize', { synchronize_data: true });
    expect(Date.parse((await shop.environment('feature/more')).data_taken_at)).toBeGreaterThan(Date.parse(branchedAt));
    expect(await read(branch, '/sales')).toBe('5');

    await shop.git('checkout', '--quiet', '-b', 'feature/more');
    await shop.write(shopFiles('two'), 'Second');
    await shop.push('feature/more');
    expect([await read(branch, '/'), await read(main, '/')]).toEqual(['two', 'one']);
    await shop.act('/environments/feature%2Fmore/merge');
    expect(await read(main, '/')).toBe('two');
    expect(await read(main, '/sales')).toBe('5');

    await shop.act('/environments/feature%2Fmore/pause');
    expect((await visit(branch)).status).toBe(503);
    expect(await shop.environment('feature/more')).toMatchObject({ status: 'paused' });
    expect(await shop.log('feature/more', 'shop', 'access')).toMatch(/"GET \/told HTTP\/1\.1" 200 /);
    await shop.act('/environments/feature%2Fmore/resume');
    expect(await read(branch, '/sales')).toBe('5');

    await shop.act('/environments/feature%2Fmore/deactivate');
    expect(await shop.log('feature/more', 'shop', 'access')).toContain('No such log.');
    expect((await visit(branch)).status).toBe(404);
    await shop.act('/environments/feature%2Fmore', undefined, 'DELETE');
    expect((await shop.api('GET', '/environments')).map(({ id }: { id: string }) => id)).toEqual(['main']);
    expect(await read(main, '/sales')).toBe('5');
  },
);

test(
  'no request fails while an environment is redeployed again and again and rolled back, nor while the platform is killed in the middle of it',
  { timeout: lifeMilliseconds },
  async () => {
    await using installation = await createInstallation(plainHttp);
    let platform = await installation.start();
    const shop = await openProject(await firstPerson(installation.url, platform));
    await shop.write(shopFiles('one'), 'First');
    await shop.push('main');
    const main = await shop.address('main');
    const visitors = visitConstantly(main, ({ status, text }) => status === 200 && /^(one|two)$/.test(text));
    for (const strategy of ['stopstart', 'rolling', 'stopstart', 'rolling']) await shop.act('/environments/main/redeploy', { strategy });
    for (const strategy of ['stopstart', 'rolling']) {
      const { _embedded } = await shop.api('POST', '/environments/main/redeploy', { strategy });
      await new Promise((resolve) => setTimeout(resolve, 400));
      await platform.killAll();
      platform = await installation.start();
      successful(await shop.ending(_embedded.activities[0].id));
    }
    await shop.write(shopFiles('two'), 'Second');
    await shop.push('main');
    expect(await read(main, '/')).toBe('two');
    const { code, stdout } = await installation.run(['rollback', shop.project, 'main']);
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/Rolling back to deployment 7 .*Opening environment/s),
    });
    expect(await read(main, '/')).toBe('one');
    await shop.act('/environments/main/rollback', { deployment: '8', strategy: 'rolling' });
    expect(await read(main, '/')).toBe('two');
    const { code: refused, stderr } = await installation.run(['rollback', shop.project, 'main', '99']);
    expect({ refused, stderr }).toMatchObject({ refused: 1, stderr: expect.stringContaining('There is no deployment 99') });
    const { stdout: list } = await installation.run(['deployment', 'list', shop.project, 'main']);
    expect(list.split('\n')[0]).toMatch(/^10 {2}.* current {2}/);
    const { count, failures } = await visitors.stop();
    expect(failures).toEqual([]);
    expect(count).toBeGreaterThan(100);
    expect(await shop.environment('main')).toMatchObject({ status: 'active', deployment_state: { last_deployment_successful: true } });
  },
);
