import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { eachStepTwice } from '../../testing/activities.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import type { Person } from '../../testing/platform.ts';
import { openOperatedProject, type OperatedProject } from './test-operated-project.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const lingerSecondsMax = 600;

const operations = {
  tell: { commands: { start: 'printf "<%s>\\n" "$@"; echo "$# of them, $COLOR, $FROM_FILE, in $(hostname), with $TOKEN"' } },
  look: { role: 'viewer', commands: { start: 'echo "looked in $(hostname)"' } },
  govern: { role: 'admin', commands: { start: 'echo governed' } },
  fail: { commands: { start: 'echo oops >&2; exit 9' } },
  linger: { commands: { start: 'trap "echo asked to end; exit 3" TERM; echo begun; sleep 6000 & wait' }, timeout: lingerSecondsMax },
  wait: { commands: { start: 'echo begun; until [ -e /tmp/stop ]; do sleep 0.05; done; echo "stopped nicely"', stop: 'touch /tmp/stop' } },
  count: { commands: { start: 'echo run >>/app/data/runs; echo begun; until [ -e /app/data/go ]; do sleep 0.05; done; echo "went on"' } },
};

const files = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    variables: { env: { COLOR: blue } }
    mounts: { data: { source: storage, source_path: data } }
    operations: ${JSON.stringify(operations)}
    web: { commands: { start: exec node server.js } }
    workers: { queue: { commands: { start: exec sleep infinity } } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
`,
  '.environment': 'export FROM_FILE="from .environment"\n',
  'server.js': `require('node:http').createServer((request, reply) => reply.end('{}')).listen(process.env.PORT, '0.0.0.0');`,
};

describe.runIf(canRunContainers)(`runtime operations${whyNoContainers}`, () => {
  let all: TestDeployments;
  let project: OperatedProject;
  const current = '/deployments/current';

  beforeAll(async () => {
    all = await openTestDeployments();
    await all.machine.images.ensure('nodejs:22');
    project = await openOperatedProject(all);
    await project.act('/variables', { name: 'env:TOKEN', value: 'sesame', is_sensitive: true });
    await project.commit(files);
    await project.act('/activate', { resources: { init: 'minimum' } });
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  const operate = (operation: string, parameters: string[] = [], service = 'app') =>
    project.act(`${current}/operations`, { service, operation, parameters });
  const begin = (operation: string) => project.begin(`${current}/operations`, { service: 'app', operation });

  test('the document of a deployment tells what can be run, and where', async () => {
    const { json } = await project.send('GET', current);
    expect(json._links['#operations'].href).toMatch(/\/deployments\/current\/operations$/);
    expect(json.webapps.app.operations).toMatchObject({
      tell: { role: 'contributor', timeout: null, commands: { start: operations.tell.commands.start, stop: null } },
      linger: { role: 'contributor', timeout: lingerSecondsMax },
      govern: { role: 'admin' },
      wait: { commands: { stop: 'touch /tmp/stop' } },
    });
    // A worker lists no operations, because a client that is not told where to run one takes the last container that lists it.
    expect(json.workers['app--queue'].operations).toEqual({});
    expect(json.project_info.capabilities).toMatchObject({ runtime_operations: { enabled: true }, source_operations: { enabled: true } });
  });

  test('parameters are arguments, whatever is in them, and never a part of the script', { timeout }, async () => {
    const parameters = ['$(touch /tmp/evil)', '`touch /tmp/evil`', '; touch /tmp/evil', '', 'a  b', `'"\\`, '--help', '$HOME', '*', '${1}'];
    const done = await operate('tell', parameters);
    expect(done).toMatchObject({ type: 'environment.operation', state: 'complete', result: 'success' });
    expect(done.commands).toEqual([{ app: 'app', type: 'operation', exit_code: 0 }]);
    for (const parameter of parameters) expect(done.log).toContain(`    <${parameter}>\n`);
    expect(done.log).toContain(`${parameters.length} of them, blue, from .environment, in app.0, with *****`);
    expect(await project.inside('ls /tmp')).not.toContain('evil');
    expect(await project.told(done.id)).not.toContain('touch /tmp/evil');
    expect((await operate('tell', ['two\nlines'])).log).toContain('    <two\n    lines>\n');
    expect((await operate('tell')).log).toContain('0 of them');
  });

  test('a worker runs the same in its own container', { timeout }, async () => {
    expect(await operate('tell', ['x'], 'app--queue')).toMatchObject({
      result: 'success',
      log: expect.stringMatching(/<x>\n\s+1 of them, blue, from \.environment, in app--queue\.0/),
      commands: [{ app: 'app--queue', type: 'operation', exit_code: 0 }],
    });
  });

  test('each operation says whom it is for', { timeout }, async () => {
    const [viewer, contributor] = [await letIn('production:viewer'), await letIn('production:contributor')];
    const ask = async (person: Person, operation: string) =>
      (await person.send('POST', `${project.at}${current}/operations`, { service: 'app', operation })).status;
    expect([await ask(viewer, 'look'), await ask(viewer, 'tell'), await ask(viewer, 'govern')]).toEqual([200, 403, 403]);
    expect([await ask(contributor, 'look'), await ask(contributor, 'tell'), await ask(contributor, 'govern')]).toEqual([200, 200, 403]);
    expect(await ask(project.owner, 'govern')).toBe(200);
    const { json } = await viewer.send('POST', `${project.at}${current}/operations`, { service: 'app', operation: 'govern' });
    expect(json.message).toContain("The operation 'govern' of app is for those who are admin of production environments");
    const { id } = (await project.send('GET', '/activities')).json[0];
    expect(await project.ended({ id })).toMatchObject({ result: 'success', log: expect.stringContaining('governed') });
  });

  async function letIn(permission: string): Promise<Person> {
    const person = await all.home.person();
    const body = [{ user_id: person.user.id, permissions: [permission], auto_add_member: true }];
    expect((await project.owner.send('POST', `/projects/${project.projectId}/user-access`, body)).status).toBe(204);
    return person;
  }

  test('one that fails, or takes too long, fails its activity and nothing else', { timeout }, async () => {
    expect(await operate('fail')).toMatchObject({
      result: 'failure',
      failure_reason: 'shell',
      commands: [{ app: 'app', type: 'operation', exit_code: 9 }],
      log: expect.stringMatching(/oops\nE: The operation 'fail' of app ended with exit code 9\./),
    });
    const lingering = await begin('linger');
    await project.whenSaid(lingering, 'begun', async () => undefined);
    // The next runner comes when the time of the operation is over.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + lingerSecondsMax * 1000 });
    expect(await project.ended(lingering).finally(() => void vi.useRealTimers())).toMatchObject({
      result: 'failure',
      failure_reason: 'shell',
      log: expect.stringMatching(/begun\n\s+asked to end\nE: .*longer than 600 s/),
    });
    expect((await project.send('GET', '')).json.status).toBe('active');
  });

  test('whoever cancels one lets its stop command end it', { timeout }, async () => {
    const activity = await begin('wait');
    await project.whenSaid(activity, 'begun', async () => {
      expect((await project.send('POST', `/activities/${activity.id}/cancel`)).status).toBe(200);
      while ((await project.look(activity.id)).state === 'in_progress') await new Promise((resolve) => setTimeout(resolve, 50));
    });
    expect(await project.look(activity.id)).toMatchObject({ state: 'cancelled', log: expect.stringContaining('stopped nicely') });
    expect(await project.inside('ls /run/offshoot-commands 2>/dev/null || true')).toBe('');
  });

  test('it runs once, whenever its runner is stopped, and each of its lines is told once', { timeout }, async () => {
    const activity = await begin('count');
    await project.whenSaid(activity, 'begun', async () => undefined);
    expect(await project.look(activity.id)).toMatchObject({ state: 'in_progress' });
    await project.inside('touch /app/data/go');
    expect(await project.ended(activity)).toMatchObject({ result: 'success', log: expect.stringMatching(/^[^]*begun\n\s+went on\n$/) });
    expect(await project.inside('cat /app/data/runs')).toBe('run');
    await eachStepTwice(all.home.platform, () => begin('count'));
    expect(await project.inside('cat /app/data/runs')).toBe('run\nrun');
  });

  test('what does not exist, or is too much, is refused in words', async () => {
    const refused = async (body: object, deployment = 'current') => {
      const { status, json } = await project.send('POST', `/deployments/${deployment}/operations`, body);
      return [status, json.message];
    };
    const known = { service: 'app', operation: 'tell' };
    expect(await refused({ ...known, service: 'db' })).toEqual([400, 'service must be one of app, app--queue; "db" does not run here.']);
    expect(await refused({ ...known, operation: 'toString' })).toEqual([
      400,
      expect.stringContaining('must be one of count, fail, govern'),
    ]);
    expect(await refused({ ...known, parameters: ['a\0b'] })).toEqual([400, expect.stringContaining('NUL')]);
    expect(await refused({ ...known, parameters: [1] })).toEqual([400, 'parameters.0 must be a string.']);
    expect(await refused({ ...known, parameters: Array.from({ length: 101 }, () => 'x') })).toEqual([400, expect.any(String)]);
    expect(await refused({ ...known, parameters: ['x', 'y', 'z'].map((letter) => letter.repeat(30_000)) })).toEqual([
      400,
      'parameters must be at most 64 KiB together.',
    ]);
    const { id } = (await project.send('GET', '/earlier-deployments')).json[0];
    expect(await refused(known, id)).toEqual([409, expect.stringContaining('deployments/current')]);
  });

  test('an operation runs only in an active environment, and only if it is still deployed when its turn comes', { timeout }, async () => {
    const waiting = await begin('fail');
    await sql`update deployments set model = (replace(model::text, '"fail"', '"flee"'))::json
      where project_id = ${project.projectId} and status = 'current'`.execute(all.home.platform.db);
    expect(await project.ended(waiting)).toMatchObject({
      result: 'failure',
      log: expect.stringContaining("There is no operation 'fail' of app any more"),
    });
    await project.act('/pause');
    const { json } = await project.send('GET', current);
    expect(json._links).not.toHaveProperty('#operations');
    const { status, json: refusal } = await project.send('POST', `${current}/operations`, { service: 'app', operation: 'look' });
    expect([status, refusal.message]).toEqual([409, expect.stringContaining('this one is paused; resume it first')]);
  });
});
