/** Apps that listen on Unix sockets, and files that apps share: with real containers behind a real edge. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startRunningEdge, type RunningEdge } from '../../../../edge/testing/running-edge.ts';
import { canRunContainers, whyNoContainers } from '../../../testing/images.ts';
import { chooseSizes } from '../sizes/chosen-sizes.ts';
import { loadDeployment } from './document.ts';
import { keepStacksRunning } from '../running/reconcilers.ts';
import { openTestDeployments, type Content, type TestDeployments } from '../../../testing/deployed-project.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;

/** It leaves its socket behind when it ends, and would not start where one is; each request needs a connection of its own. */
const listening = (version: string) => `
const server = require('node:http').createServer((request, reply) => {
  const answer = request.url === '/who' ? require('node:os').hostname() : '${version}';
  setTimeout(() => reply.setHeader('connection', 'close').end(answer), 20);
});
server.listen(process.env.SOCKET);
process.on('SIGTERM', () => process.exit(0));
`;

const onSocket = (version: string): Content => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    web: { commands: { start: exec node server.js }, upstream: { socket_family: unix } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
`,
  'server.js': listening(version),
});

/** In main each number is put into the app's own files first, and then into those that are shared. */
const counting = `
const { writeFileSync, renameSync } = require('node:fs');
const put = (folder, text) => (writeFileSync(folder + '/n.new', text), renameSync(folder + '/n.new', folder + '/n'));
let n = 0;
const count = () => { for (let once = 0; once < 20; once++) { put('own', String(++n)); put('shared', String(n)); } setImmediate(count); };
if (process.env.PLATFORM_BRANCH === 'main') count();
require('node:http').createServer((_, reply) => reply.end('counting')).listen(process.env.PORT);
`;

const sharing = (folder = 'pictures'): Content => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    source: { root: app }
    build: { flavor: none }
    mounts: { own: { source: storage }, shared: { source: service, service: files, source_path: counted } }
    web: { commands: { start: exec node server.js } }
  other:
    type: nodejs:22
    source: { root: other }
    build: { flavor: none }
    mounts: { files: { source: service, service: files, source_path: '' } }
    web: { commands: { start: exec node server.js }, locations: { /: { passthru: true }, /files: { root: files } } }
    workers:
      queue:
        mounts: { work: { source: service, service: files, source_path: ${folder} } }
        commands: { start: 'echo done >work/result; exec sleep infinity' }
services: { files: { type: 'network-storage:1.0' } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' }, 'http://{default}/o/': { type: upstream, upstream: 'other:http' } }
`,
  'app/server.js': counting,
  'other/server.js': `require('node:http').createServer((_, reply) => reply.end('other')).listen(process.env.PORT)`,
});

describe.runIf(canRunContainers)(`sockets and storage${whyNoContainers}`, () => {
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

  type TestProject = Awaited<ReturnType<TestDeployments['project']>>;
  const visit = async (project: TestProject, path = '/') =>
    edge.get(`${(await project.row()).machine_name}-${project.projectId}.offshoot.localhost`, path);
  const answer = async (project: TestProject) => (await visit(project)).body;
  const waiting = { timeout: 90_000, interval: 50 };

  /** Somebody comes before it, all the time meanwhile, and after it; gives what they were answered, each once. */
  async function visitedDuring(project: TestProject, work: () => Promise<unknown>): Promise<string[]> {
    const answers = new Set<string>();
    const over = new AbortController();
    const come = async () => {
      const { status, body } = await visit(project);
      answers.add(status === 200 ? body : `status ${status}`);
    };
    const visitor = async () => {
      while (!over.signal.aborted) await come();
    };
    await come();
    const visitors = [visitor(), visitor(), visitor()];
    await work().finally(() => over.abort());
    await Promise.all(visitors);
    await come();
    return [...answers];
  }

  test(
    'an app on a socket is redeployed both ways without a failed request, and comes back whatever happens to it',
    { timeout },
    async () => {
      const project = await all.project();
      await project.push(onSocket('one'));
      const [instance] = await project.instances();
      expect(instance).toMatchObject({ address: { socket: expect.stringMatching(/\/app\.sock$/) } });
      expect(await visit(project)).toEqual({ status: 200, body: 'one' });
      expect(await project.inside('echo ${PORT-none} $SOCKET')).toBe('none /run/app.sock');

      expect(await visitedDuring(project, () => project.push(onSocket('two')))).toEqual(['one', 'two']);
      const { db } = all.home.platform;
      await db.transaction().execute((tx) => chooseSizes(tx, project.projectId, 'main', { webapps: { app: { instance_count: 2 } } }));
      expect(await visitedDuring(project, () => project.push(onSocket('three'), { strategy: 'rolling' }))).toEqual(['two', 'three']);
      const who = await Promise.all([1, 2, 3, 4].map(async () => (await visit(project, '/who')).body));
      const names = (await project.instances()).map(({ id }) => id);
      expect([names.length, new Set(who).size]).toEqual([2, 2]);
      // Folders of the instances before, with what was in them, went with them.
      const { stack_id } = await project.row();
      const folders = (await all.machine.volumes.list()).map(({ name }) => name.replace(/^scratch-[a-z0-9]+-/, ''));
      expect(folders.filter((name) => name.startsWith(`${stack_id}-`)).sort()).toEqual(names.toSorted());

      await project.inside('kill -9 $(pidof node)');
      await expect.poll(() => answer(project), waiting).toBe('three');
      await project.does('pause');
      expect(await visit(project)).toMatchObject({ status: 503 });
      await project.does('resume');
      expect(await answer(project)).toBe('three');
      // As after a reboot.
      for (const { name } of await all.machine.runtime.list()) await all.machine.runtime.remove(name);
      await keepStacksRunning.run(all.home.platform, new AbortController().signal);
      expect(await answer(project)).toBe('three');
      await project.does('remove');
    },
  );

  test('what a hostile app puts in the place of its socket leads to nobody', { timeout }, async () => {
    const project = await all.project();
    await project.push(onSocket('mine'));
    expect(await answer(project)).toBe('mine');
    const control = join(edge.options.folder, 'control.sock');
    for (const plant of [`ln -s ${control} /run/app.sock`, `mkfifo /run/app.sock`, `mkdir /run/app.sock`, `ln -s own.sock /run/app.sock`]) {
      await project.inside(`[ -S /run/own.sock ] || mv /run/app.sock /run/own.sock; rm -rf /run/app.sock; ${plant}`);
      expect([plant, (await visit(project)).status]).toEqual([plant, 502]);
    }
    await project.inside('rm /run/app.sock; mv /run/own.sock /run/app.sock');
    expect(await answer(project)).toBe('mine');
    await project.does('remove');
  });

  test(
    'apps and workers share the files of a service; a branch has them as of the same moment as all other data',
    { timeout },
    async () => {
      const project = await all.project();
      const log = await project.push(sharing());
      expect(log).toMatch(/^ {4}files \(type: network-storage:1\.0, disk: \d+\)$/m);
      expect(log).not.toContain("Setting 'files' resources");
      const stack = await project.found();
      expect(stack.containers).toEqual(['…-app-app-1-0', '…-app-other--queue-1-0', '…-app-other-1-0']);
      expect(stack.volumes).toEqual(['stack-…-data-files-network-storage', 'stack-…-storage-app']);
      const { platform } = all.home;
      const document = await loadDeployment(platform, project.projectId, 'main', 'current');
      expect(document?.services['files']).toMatchObject({ type: 'network-storage:1.0', disk: 256 });

      const other = async (script: string, environment = 'main') => {
        const [instance] = await project.instances(environment, 'other');
        const execution = await all.machine.runtime.exec(instance?.id ?? '', { argv: ['dash', '-c', script] });
        execution.stdin.end();
        return (await execution.stdout.toArray()).join('').trim();
      };
      await expect.poll(() => other('cat files/pictures/result'), waiting).toBe('done');
      await expect.poll(() => other('cat files/counted/n'), waiting).toMatch(/^[1-9]/);
      expect(await other('stat -c %u:%g files files/counted files/counted/n')).toBe('1000:1000\n1000:1000\n1000:1000');
      await other('echo from the other >files/counted/note');
      expect(await project.inside('cat /app/shared/note')).toBe('from the other');
      const served = (await project.table())?.upstreams['other']?.files;
      expect(served).toEqual([expect.objectContaining({ at: '/app' }), expect.objectContaining({ at: '/app/files', is_immutable: false })]);

      await project.addEnvironment('branch');
      await project.push(sharing(), { environment: 'branch', cloneFrom: 'main' });
      const [own, shared] = (await project.inside('cat own/n; echo; cat shared/n', 'branch')).split('\n').map(Number);
      expect(own).toBeGreaterThan(0);
      expect([shared, Number(shared) + 1]).toContain(own);
      await other('echo changed >files/counted/note', 'branch');
      expect([await other('cat files/counted/note'), await other('cat files/counted/note', 'branch')]).toEqual([
        'from the other',
        'changed',
      ]);

      await other('ln -s / files/planted');
      const { result, log: said } = await project.attempt(sharing('planted/etc'));
      expect([result, said]).toEqual(['failure', expect.stringMatching(/Worker 'other--queue' .*link that leads elsewhere/s)]);
      expect(await other('cat files/counted/note')).toBe('from the other');
    },
  );
});
