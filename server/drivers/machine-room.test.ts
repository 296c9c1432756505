/** Containers, images and copy-on-write volumes together: a database under load is cloned into another network, and stays within its limits. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, openTestContainers, type TestContainers, whyNoContainers } from '../testing/images.ts';
import { catalogue, entryOf } from '../catalogue/catalogue.ts';
import { dataFolder, type Service } from '../catalogue/service.ts';

const type = 'postgresql:17';
const buildMillisecondsMax = 600_000;
const insertsMax = 2000;

let containers: TestContainers;
let layers: string[];

/** What a command inside prints; throws what it says when it fails. */
async function inside(container: string, argv: [string, ...string[]], stdin = '', env = {}): Promise<string> {
  const { code, stdout, stderr } = await containers.run(container, { argv, stdin, env });
  if (code !== 0) throw new Error(`${argv[0]} ended with ${code}: ${stderr || stdout}`);
  return stdout.trim();
}

const serviceOf = (): Service => {
  const { service } = entryOf(catalogue, type).entry;
  if (!service) throw new Error('PostgreSQL is a service');
  return service;
};

async function startPostgres(name: string, volume: string, network: string) {
  const service = serviceOf();
  const { env, writable, probe, stop } = service;
  const argv = service.start({ limits: containers.limits, configuration: {}, host: 'localhost', apps: {} });
  const mounts = [{ from: volume, at: dataFolder, writable: true }];
  return containers.start({ name, layers, argv, env, writable, mounts, probe, stop, network });
}

const account = { name: 'ada', password: 'lovelace', privileges: { main: 'admin' as const } };
const psql = (container: string, address: string, statement: string, connectSecondsMax = 60) =>
  inside(
    container,
    [
      'psql',
      '--no-psqlrc',
      '--quiet',
      '--tuples-only',
      '--no-align',
      '-v',
      'ON_ERROR_STOP=1',
      `--host=${address}`,
      '--username=ada',
      'main',
    ],
    statement,
    {
      PGPASSWORD: account.password,
      PGCONNECT_TIMEOUT: String(connectSecondsMax),
    },
  );

describe.runIf(canRunContainers)(`the machine room${whyNoContainers}`, () => {
  beforeAll(async () => {
    containers = await openTestContainers();
    ({ layers } = await containers.images.ensure(type));
  }, buildMillisecondsMax);
  afterAll(() => containers.close());

  test(
    'clones a database that is written to, into another network, with every commit that was acknowledged',
    { timeout: 300_000 },
    async () => {
      const { env, initialise, access, quiesce } = serviceOf();
      const volume = await containers.volume('data');
      await containers.start({
        name: 'setup',
        layers,
        argv: ['sleep', 'infinity'],
        env,
        mounts: [{ from: volume, at: dataFolder, writable: true }],
      });
      for (const { argv, stdin } of initialise) await inside('setup', [...argv], stdin, env);
      await containers.runtime.remove('setup');
      const { address = '' } = await startPostgres('live', volume, 'production');
      for (const { argv, stdin } of access?.({ databases: ['main'], accounts: [account] }) ?? [])
        await inside('live', [...argv], stdin, env);
      await psql('live', address, 'create table sales (n integer primary key);');

      let acknowledged = 0;
      const stop = new AbortController();
      const selling = (async () => {
        for (let n = 1; n <= insertsMax && !stop.signal.aborted; n += 1) {
          await psql('live', address, `insert into sales values (${n});`);
          acknowledged = n;
        }
      })();
      await expect.poll(() => acknowledged, { timeout: 60_000 }).toBeGreaterThan(5);
      for (const { argv, stdin } of quiesce) await inside('live', [...argv], stdin, env);
      const before = acknowledged;
      const clone = await containers.clone('data', 'branch');
      const branched = await startPostgres('copy', clone, 'preview');
      const count = Number(await psql('copy', branched.address ?? '', 'select count(*) from sales;'));
      expect(count).toBeGreaterThanOrEqual(before);
      await psql('copy', branched.address ?? '', 'delete from sales;');
      stop.abort();
      await selling;
      expect(Number(await psql('live', address, 'select count(*) from sales;'))).toBe(acknowledged);
      await expect(psql('copy', address, 'select 1;', 3)).rejects.toThrow(/ended with/);
    },
  );

  test('keeps what is written within the limit of the volume, and lets nobody make volumes of their own', async () => {
    const volume = await containers.volume('small', 64 * 2 ** 20);
    await containers.start({
      name: 'hog',
      layers,
      argv: ['sleep', 'infinity'],
      mounts: [{ from: volume, at: dataFolder, writable: true }],
    });
    await expect(inside('hog', ['dd', 'if=/dev/zero', `of=${dataFolder}/file`, 'bs=1M', 'count=200'])).rejects.toThrow(/quota|space/i);
    await inside('hog', ['rm', '--', `${dataFolder}/file`]);
    await sleep(100);
    const createSubvolume =
      '$wanted = pack("qZ4088", 0, "inner"); open F, "<", "/mnt"; print ioctl(F, 0x5000940e, $wanted) ? "made" : "refused: $!"';
    expect(await inside('hog', ['perl', '-e', createSubvolume])).toBe('refused: Function not implemented');
    const share = `open A, ">", "/mnt/a"; print A "x" x 8192; close A; open A, "<", "/mnt/a"; open B, ">", "/mnt/b"; print ioctl(B, 0x40049409, fileno(A)) ? "shared" : "refused: $!"`;
    expect(await inside('hog', ['perl', '-e', share])).toBe('shared');
  });
});
