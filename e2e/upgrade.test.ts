/**
 * A newer version is started on the data of the first released one, while visitors come: what runs stays as it is, and the edge is replaced without a gap.
 * The program of that version is not kept; what it left in the database is made from what this one wrote (first-released.ts).
 */
import { appendFile, cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { processesOfStack, stacksIn } from './containers.ts';
import { eventually } from './eventually.ts';
import { asFirstReleased, firstReleased, migrationsOf } from './first-released.ts';
import { createInstallation, repository } from './installation.ts';
import { firstPerson, openProject, read } from './open-project.ts';
import { visitConstantly } from './visit.ts';

const upgradeMilliseconds = 480_000;
const edgeSecondsMax = 60;
const newerMigration = '9999_newer.sql';

/** Tells since when it runs. */
const files = {
  '.upsun/config.yaml': `
applications:
  app: {type: 'nodejs:24', web: {commands: {start: exec node server.mjs}}}
routes: {'http://{default}/': {type: upstream, upstream: 'app:http'}}
`,
  'server.mjs': `
import { createServer } from 'node:http';
createServer((_, response) => response.end(String(performance.timeOrigin))).listen(Number(process.env.PORT));
process.on('SIGTERM', () => process.exit(0));
`,
};

/** The program as it is, with one more migration and another edge. */
async function newerVersion() {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-e2e-newer-'));
  const left = new Set(['.git', 'node_modules', 'data']);
  await cp(repository, folder, { recursive: true, filter: (path) => path === repository || !left.has(basename(path)) });
  await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'server', 'migrations', newerMigration), 'create table of_a_newer_version (id integer);\n');
  await appendFile(join(folder, 'edge', 'process', 'process.ts'), '\n// of a newer version\n');
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

test(
  'a newer version migrates the data of the first one, leaves what runs alone, replaces the edge without a failed visit, and is not followed by an older one',
  { timeout: upgradeMilliseconds },
  async () => {
    await using newer = await newerVersion();
    await using installation = await createInstallation();
    const older = await installation.start();
    const project = await openProject(await firstPerson(installation.url, older));
    await project.write(files, 'First');
    await project.push('main');
    const address = await project.address('main');
    const since = await read(address, '/');
    const edge = () => readFile(join(installation.data, 'edge', 'guard-process'), 'utf8');
    const processes = () =>
      stacksIn(installation.data)
        .flatMap(processesOfStack)
        .toSorted((a, b) => a - b);
    const [edgeBefore, processesBefore] = [await edge(), processes()];

    const visitors = visitConstantly(address, ({ status, text }) => status === 200 && text === since);
    const whatRuns = () => project.api('GET', '/environments/main/deployments/current');
    const deployed = await whatRuns();
    expect((await installation.run(['doctor'])).stdout).toMatch(givenOut);
    await older.stop();
    const first = await asFirstReleased(installation.data);
    expect(first.at(-1)).toBe(firstReleased);
    const whileItRests = await installation.run(['doctor']);
    expect(whileItRests).toMatchObject({ code: 0, stdout: expect.stringContaining('the database is of an older version') });
    const platform = await installation.startVersion(newer.folder);
    await eventually(
      'the edge is the newer one',
      async () => (await servingEdge(installation.data)).includes(newer.folder),
      edgeSecondsMax,
    );
    const { count, failures } = await visitors.stop();
    expect({ failures, isMuch: count > 100 }).toEqual({ failures: [], isMuch: true });
    expect([await edge(), processes()]).toEqual([edgeBefore, processesBefore]);
    expect(await whatRuns()).toEqual(deployed);
    expect(await project.environment('main')).toMatchObject({ status: 'active', start_failure: null });
    const activities = await project.api('GET', '/activities');
    expect(activities.map(({ type }: { type: string }) => type)).toEqual(['environment.push', 'project.create']);

    await project.act('/environments/main/redeploy');
    expect(Number(await read(address, '/'))).toBeGreaterThan(Number(since));
    const migrations = await migrationsOf(installation.data);
    expect(migrations.slice(0, first.length)).toEqual(first);
    expect([migrations.length > first.length + 1, migrations.at(-1)]).toEqual([true, newerMigration]);
    await platform.stop();
    expect((await installation.run(['doctor'])).stdout).toMatch(givenOut);
    const again = installation.launch();
    await eventually('the older version says why it does not start', () => again.stderr.includes(newerMigration), edgeSecondsMax);
    expect(again.stderr).toContain(`The database was migrated by a newer Offshoot (${newerMigration})`);
    expect(await read(address, '/')).not.toBe(since);
  },
);

/** As `./offshoot doctor` says it, whether the platform runs or not. */
const givenOut = new RegExp(
  [
    String.raw`Taken of the disk:\n  images +[\d.]+ [GM]B.*\n  data of environments +[\d.]+ MB.*\n  slugs +[\d.]+ MB  1`,
    String.raw`[^]*\n  logs +[\d.]+ MB\n  database +[\d.]+ MB  [\d.]+ MB of it tables\n`,
    String.raw`\nGiven out to environments, of which 1 are to run, 0 are paused and 0 asleep:\n  processors +0\.5 CPU  of \d+ CPU \(32 times the \d+ there are\)`,
    String.raw`\n  memory +224 MB  of \d+ MB .*\n  disks and logs +550 MB  of `,
  ].join(''),
);

/** Its program, as the guard is told to start it again. */
const servingEdge = (data: string) => readFile(join(data, 'edge', 'main-process'), 'utf8').catch(() => '');
