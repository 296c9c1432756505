import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, openTestContainers, type TestContainers, whyNoContainers } from '../testing/images.ts';
import { catalogue, entryOf } from './catalogue.ts';
import { dataFolder } from './service.ts';

const timeout = 600_000;
const diskBytes = 256 * 2 ** 20;
const waiting = { timeout: 60_000, interval: 200 };

describe.runIf(canRunContainers)(`a database whose disk is full${whyNoContainers}`, () => {
  let containers: TestContainers;
  beforeAll(async () => {
    containers = await openTestContainers();
  });
  afterAll(() => containers.close());

  async function startPostgresql() {
    const type = 'postgresql:17';
    const { service } = entryOf(catalogue, type).entry;
    if (!service) throw new Error('There is no such service');
    const { layers } = await containers.images.ensure(type);
    const from = await containers.volume('db', diskBytes);
    const { env, writable, probe, stop } = service;
    const common = { name: 'db', layers, env, writable, mounts: [{ from, at: dataFolder, writable: true }] };
    await containers.start({ ...common, argv: ['sleep', 'infinity'] });
    for (const { argv } of service.initialise) await containers.run('db', { argv });
    await containers.runtime.remove('db');
    const argv = service.start({ limits: containers.limits, configuration: {}, host: 'localhost', apps: {} });
    await containers.start({ ...common, argv, probe, stop, restart: 'always' });
    return from;
  }

  const shell = async (script: string) => {
    const { code, stdout, stderr } = await containers.run('db', { argv: ['sh', '-c', script] }).catch((error: Error) => ({
      code: 1,
      stdout: '',
      stderr: error.message,
    }));
    return code === 0 ? stdout.trim() : `failed: ${stderr.trim()}`;
  };
  const query = (sql: string) => shell(`psql -qtAX -v ON_ERROR_STOP=1 -h /run -U postgres -c "${sql}"`);

  test('it can be read, also by several at once, dumped and grown, whatever happens to it', { timeout }, async () => {
    const folder = await startPostgresql();
    expect(existsSync(join(folder, 'reserve'))).toBe(true);
    await query('create table words as select n, md5(n::text) as word from generate_series(1, 200000) n; checkpoint');
    // Somebody adds to it until there is no room, and goes on.
    const filled = await shell(
      `dd if=/dev/zero of=${dataFolder}/filling bs=64k 2>&1; dd if=/dev/zero of=${dataFolder}/rest bs=1k 2>&1; sync; true`,
    );
    expect(filled).toMatch(/quota exceeded|No space left/);
    const inParallel = 'set debug_parallel_query = on; set max_parallel_workers_per_gather = 2; select count(*) from words where n > 0';
    await expect.poll(() => query(inParallel), waiting).toBe('200000');

    await query('insert into words select n, repeat(md5(n::text), 20) from generate_series(1, 2000000) n');
    await shell('pkill -KILL postgres');
    await expect.poll(() => query('select count(*) from words'), waiting).toBe('200000');
    expect(await query(inParallel)).toBe('200000');
    expect(await query("insert into words values (0, 'more')")).toMatch(/read-only transaction/);
    expect(await shell('psql -qX -h /run -U postgres -c "copy words to stdout" | wc -l')).toBe('200000');

    await containers.volumes.grow('db', 2 * diskBytes);
    await expect.poll(() => query("insert into words values (0, 'more') returning word"), waiting).toBe('more');
    expect(existsSync(join(folder, 'reserve'))).toBe(true);
  });
});
