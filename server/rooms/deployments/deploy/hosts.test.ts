/** Whose a host is, over all that happens to environments. Sites without a program of their own are enough for that. */
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eachStepTwice, failAtEachStep } from '../../../testing/activities.ts';
import { definitions, openTestDeployments, type TestDeployments } from '../../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../../testing/images.ts';
import { adoptHosts } from './adopt-hosts.ts';
import { haveNamesInCommon } from '../stack/host-names.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 120_000;

type Project = Awaited<ReturnType<TestDeployments['project']>>;

const site = (...hosts: string[]) => ({
  '.upsun/config.yaml': `
applications: { site: { type: 'static:1', web: { locations: { /: { root: '', index: [index.html] } } } } }
routes: { ${hosts.map((host) => `'https://${host}/': { type: upstream, upstream: 'site:http' }`).join(', ')} }
`,
  'index.html': 'a site',
});

describe.runIf(canRunContainers)(`hosts${whyNoContainers}`, () => {
  let all: TestDeployments;

  beforeAll(async () => {
    all = await openTestDeployments();
    await all.machine.images.ensure('static:1');
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  const db = () => all.home.platform.db;
  const claims = async ({ projectId }: Project, environment = 'main') => {
    const rows = await db()
      .selectFrom('hosts')
      .select('host')
      .where('project_id', '=', projectId)
      .where('environment_id', '=', environment)
      .execute();
    return rows.map(({ host }) => host).toSorted();
  };
  const served = async (project: Project, environment = 'main') =>
    [...new Set((await project.table(environment))?.routes.map(({ host }) => host))].toSorted();
  const generated = async (project: Project, environment = 'main') =>
    `${(await project.row(environment)).machine_name}-${project.projectId}.offshoot.localhost`;
  /** Nothing was built, and the sentence names the route. */
  const refuses = async (project: Project, host: string, reason: RegExp) => {
    const { result, log } = await project.attempt(site(host));
    expect([host, result]).toEqual([host, 'failure']);
    expect(log).toContain(`E: Invalid deployment: routes: https://${host.toLowerCase()}/ is at `);
    expect(log).toMatch(reason);
    expect(log).not.toContain('Building');
  };

  test('the first to deploy a host has it, however others spell it, until it lets go of it', { timeout }, async () => {
    const [first, second] = [await all.project(), await all.project()];
    await first.push(site('shop.first.example', '{default}'));
    expect(await served(first)).toEqual([await generated(first), 'shop.first.example'].toSorted());
    for (const host of ['shop.first.example', 'SHOP.first.Example', 'shop.first.example.', '*.first.example', '*.shop.first.example'])
      await refuses(second, host, /which belongs to another project/);
    expect([await claims(second), await second.table()]).toEqual([[], undefined]);
    await second.push(site('first.example'));

    await first.push(site('{default}'));
    await second.push(site('shop.first.example'));
    expect(await served(second)).toEqual(['shop.first.example']);
    await refuses(first, 'shop.first.example', /which belongs to another project/);
    expect(await served(first)).toEqual([await generated(first)]);
    await second.does('remove');
    await first.push(site('*.first.example', 'first.example', 'www.first.example'));
    expect(await claims(first)).toEqual(['*.first.example']);
    await refuses(second, 'deep.below.first.example', /which belongs to another project/);
    await refuses(second, 'first.example', /which belongs to another project/);
  });

  test(
    'names of the platform and of others’ environments are refused before anything is built, whether they exist or not',
    { timeout },
    async () => {
      const [victim, hostile] = [await all.project(), await all.project()];
      const names = [
        await generated(victim),
        `www.${await generated(victim)}`,
        `staging-aaaaaaa-${victim.projectId}.offshoot.localhost`,
        'console.offshoot.localhost',
        'offshoot.localhost',
        'OFFSHOOT.localhost.',
        '*.offshoot.localhost',
        '*.localhost',
      ];
      for (const name of names) await refuses(hostile, name, /a name of the platform|too wide/);
      expect(await claims(hostile)).toEqual([]);
      await hostile.push(site('{default}', '*.{default}'));
      expect(await claims(hostile)).toEqual([`*.${await generated(hostile)}`]);
    },
  );

  test('what is paused keeps its hosts; a preview has none of production’s; what is gone has none', { timeout }, async () => {
    const [owner, other] = [await all.project(), await all.project()];
    const content = site('www.paused.example', 'api.www.paused.example');
    await owner.push(content);
    await owner.addEnvironment('preview');
    await owner.push(content, { environment: 'preview' });
    expect(await served(owner, 'preview')).toEqual(
      [await generated(owner, 'preview'), `api.${await generated(owner, 'preview')}`].toSorted(),
    );
    await owner.does('pause');
    await refuses(other, 'www.paused.example', /which belongs to another project/);
    expect(await served(owner)).toEqual(['api.www.paused.example', 'www.paused.example']);
    await owner.does('resume');
    expect(await served(owner)).toEqual(['api.www.paused.example', 'www.paused.example']);
    await sql`delete from deployments where project_id = ${owner.projectId}`.execute(db());
    await sql`delete from environments where project_id = ${owner.projectId}`.execute(db());
    expect(await claims(owner)).toEqual([]);
    await other.push(content);
  });

  test(
    'a deployment that fails at any step before it is current leaves the hosts as they were, also where one becomes a wildcard',
    { timeout },
    async () => {
      const project = await all.project();
      await project.push(site('a.failing.example', 'b.failing.example'));
      const before = ['a.failing.example', 'b.failing.example'];
      const failed = await failAtEachStep(
        all.home.platform,
        () => project.beginDeploy(site('*.failing.example')),
        async (step) => {
          const has = step === 'clean up' ? ['*.failing.example'] : before;
          expect([step, await claims(project), await served(project)]).toEqual([step, has, has]);
        },
        definitions,
      );
      expect(failed).toEqual(expect.arrayContaining(['prepare deployment', 'open environment', 'make current', 'clean up']));
      expect([await claims(project), await served(project)]).toEqual([['*.failing.example'], ['*.failing.example']]);
    },
  );

  test('each step can be done twice, and what was taken meanwhile does not come back with an earlier deployment', { timeout }, async () => {
    const [project, other] = [await all.project(), await all.project()];
    const twice = (begin: () => Promise<{ id: string }>) => eachStepTwice(all.home.platform, begin, definitions);
    await twice(() => project.beginDeploy(site('*.twice.example', 'x.twice.example')));
    expect([await claims(project), await served(project)]).toEqual([['*.twice.example'], ['*.twice.example', 'x.twice.example']]);
    const [earlier] = await db().selectFrom('deployments').select('id').where('project_id', '=', project.projectId).execute();
    await twice(() => project.beginDeploy(site('x.twice.example')));
    expect([await claims(project), await served(project)]).toEqual([['x.twice.example'], ['x.twice.example']]);
    await other.push(site('y.twice.example'));
    const again = { kind: 'rollback', deployment: earlier?.id ?? '' } as const;
    const { result, log } = await project.attempt({}, again);
    expect([result, log]).toEqual([
      'failure',
      expect.stringContaining(
        'routes: https://*.twice.example/ is at *.twice.example, which belongs to another project; choose another host.',
      ),
    ]);
    expect(await served(project)).toEqual(['x.twice.example']);
    await other.does('remove');
    await project.push({}, again);
    expect(await served(project)).toEqual(['*.twice.example', 'x.twice.example']);
    await twice(() => project.begin('remove'));
    expect(await claims(project)).toEqual([]);
  });

  test(
    'with the default branch its hosts move, once the new production is deployed; what was production serves until then',
    { timeout },
    async () => {
      const project = await all.project();
      const content = site('www.moving.example', '{default}');
      await project.push(content);
      await project.addEnvironment('next');
      await project.push(content, { environment: 'next' });
      const types = [
        ['main', 'development'],
        ['next', 'production'],
      ];
      for (const [id, type] of types)
        await sql`update environments set type = ${type} where project_id = ${project.projectId} and id = ${id}`.execute(db());
      const failed = await failAtEachStep(
        all.home.platform,
        () => project.beginDeploy(content, { environment: 'next' }),
        async (step) => {
          const has = step === 'clean up' ? 'next' : 'main';
          expect([step, (await claims(project, has)).includes('www.moving.example')]).toEqual([step, true]);
        },
        definitions,
      );
      expect(failed).toContain('make current');
      expect(await served(project, 'next')).toContain('www.moving.example');
      const [before, now] = [await project.table('main'), await project.table('next')];
      const claimIn = (table: typeof now) => table?.routes.find(({ host }) => host === 'www.moving.example')?.claim ?? 0;
      expect(claimIn(now)).toBeGreaterThan(claimIn(before));
      await project.push(content, { environment: 'main' });
      expect(await served(project, 'main')).toEqual([await generated(project)]);
    },
  );

  test('what was deployed before hosts had owners gets them by age, and what is the platform’s is given up', { timeout }, async () => {
    const [older, younger, hostile] = [await all.project(), await all.project(), await all.project()];
    const { platform } = all.home;
    await older.push(site('{default}', 'www.aged.example'));
    await younger.push(site('{default}', 'own.example'));
    await hostile.push(site('{default}', 'bad.example'));
    const rename = (project: Project, from: string, to: string) =>
      sql`update deployments set routes = replace(routes::text, ${from}, ${to})::json where project_id = ${project.projectId}`.execute(
        db(),
      );
    await rename(younger, 'own.example', 'www.aged.example');
    await rename(hostile, 'bad.example', '*.offshoot.localhost');
    const projects = [older, younger, hostile];
    const since = '2026-01-01T00:00:00Z';
    await sql`update deployments set created_at = ${since}::timestamptz where project_id = ${older.projectId}`.execute(db());
    await sql`delete from hosts where project_id = any(${projects.map(({ projectId }) => projectId)}::text[])`.execute(db());
    const lost = await adoptHosts(platform.db, platform.config);
    const ours = lost.filter(({ project }) => projects.some(({ projectId }) => projectId === project));
    expect(new Set(ours)).toEqual(
      new Set([
        { project: younger.projectId, environment: 'main', host: 'www.aged.example' },
        { project: hostile.projectId, environment: 'main', host: '*.offshoot.localhost' },
      ]),
    );
    expect(await Promise.all(projects.map((project) => claims(project)))).toEqual([
      [await generated(older), 'www.aged.example'].toSorted(),
      [await generated(younger)],
      [await generated(hostile)],
    ]);
    expect(await adoptHosts(platform.db, platform.config)).toEqual([]);

    const moved = { ...platform.config, url: 'https://www.aged.example' };
    expect(await adoptHosts(platform.db, moved)).toEqual([{ project: older.projectId, environment: 'main', host: 'www.aged.example' }]);
    expect(await claims(older)).toEqual([await generated(older)]);
  });

  test('the database itself lets no two claims have a name in common', { timeout }, async () => {
    const label = fc.constantFrom('a', 'b', 'a-b', 'ab');
    const name = fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => `${labels.join('.')}.example`);
    const host = fc.tuple(fc.boolean(), name).map(([isWildcard, domain]) => (isWildcard ? `*.${domain}` : domain));
    const pairs = fc.sample(fc.tuple(host, host), 500);
    const { rows } = await sql<{ overlap: boolean }>`
      select names_of(one) && names_of(other) as overlap
      from unnest(${pairs.map(([one]) => one)}::text[], ${pairs.map(([, other]) => other)}::text[]) with ordinality as pair (one, other, place)
      order by place`.execute(db());
    expect(rows.map(({ overlap }) => overlap)).toEqual(pairs.map(([one, other]) => haveNamesInCommon(one, other)));

    const [first, second] = [await all.project(), await all.project()];
    const claim = (project: Project, wanted: string) =>
      db().insertInto('hosts').values({ host: wanted, project_id: project.projectId, environment_id: 'main' }).execute();
    await claim(first, '*.constraint.example');
    await expect(claim(second, 'a.constraint.example')).rejects.toThrow(/hosts_one_owner/);
    await expect(claim(second, '*.constraint.example')).rejects.toThrow(/hosts_pkey|hosts_one_owner/);
    await expect(claim(second, 'Upper.example')).rejects.toThrow(/hosts_host_check/);
    await expect(claim(second, 'dotted.example.')).rejects.toThrow(/hosts_host_check/);
  });

  test('of many who deploy the same host at the same moment one gets it', { timeout }, async () => {
    const projects = await Promise.all(Array.from({ length: 4 }, () => all.project()));
    const attempts = await Promise.all(projects.map((project) => project.attempt(site('{default}', 'race.example'))));
    expect(attempts.filter(({ result }) => result === 'success')).toHaveLength(1);
    const winner = projects[attempts.findIndex(({ result }) => result === 'success')];
    expect(winner && (await served(winner))).toContain('race.example');
  });
});
