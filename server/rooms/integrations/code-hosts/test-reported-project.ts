/** A project, for all tests of a file, whose code host is one of the tests', on a machine that only remembers what it is told. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll } from 'vitest';
import { githubWire } from '../../../drivers/code-hosts/github/test-github.ts';
import { serveTestHost } from '../../../drivers/code-hosts/test-host.ts';
import { workThrough } from '../../../testing/activities.ts';
import { openMemoryMachine, type MemoryMachine } from '../../../testing/memory-machine.ts';
import { openTestPlatform, type TestPlatform } from '../../../testing/platform.ts';
import { commitFiles } from '../../../testing/repository.ts';
import { sampleProject } from '../../../testing/samples.ts';
import { actorById } from '../../activities/public.ts';
import { environmentById } from '../../environments/public.ts';
import { recordUpdate, startRemoval, type MirroredOptions } from '../../environments/work.ts';
import { projectById } from '../../projects/public.ts';
import { reportToCodeHosts } from './report-environments.ts';
import { deliver, hostsOnThisMachine } from './test-code-hosts.ts';

export interface ReportingHome {
  home: TestPlatform;
  machine: MemoryMachine;
}

export async function openReportingHome(): Promise<ReportingHome> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-reports-'));
  const machine = openMemoryMachine(folder);
  const home = await openTestPlatform(undefined, async () => machine, hostsOnThisMachine);
  afterAll(() => rm(folder, { recursive: true, maxRetries: 5 }));
  return { home, machine };
}

const filesOf = (version: string) => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    web: { commands: { start: exec node server.js } }
services:
  cache: { type: 'valkey:8.1' }
routes:
  http://{default}/: { type: upstream, upstream: 'app:http' }
`,
  'server.js': `// ${version}`,
});

export async function openReportedProject({ home }: ReportingHome) {
  const { platform } = home;
  const { db, git, config } = platform;
  const owner = await home.person();
  const { projectId } = await sampleProject(owner);
  const host = await serveTestHost(githubWire);
  afterAll(() => host.close());
  const heads = new Map<string, string>();

  /** As the host's branches and pull requests are recorded, once they were fetched. */
  const push = async (branch: string, version: string, options: MirroredOptions = {}): Promise<string> => {
    const from = heads.get(branch);
    const to = commitFiles(git.path(projectId), from ?? heads.get('main'), filesOf(version));
    await git.moveBranch(projectId, branch, from, to);
    await db.transaction().execute(async (tx) => {
      const project = await projectById(tx, projectId);
      if (!project) throw new Error('The project is gone');
      await recordUpdate(tx, platform, { project, update: { branch, from: from ?? null, to }, actor: await actorById(tx, null), options });
    });
    await sql`update environments set is_mirrored = true where project_id = ${projectId} and id = ${branch}`.execute(db);
    heads.set(branch, to);
    return to;
  };
  await push('main', 'first');
  await workThrough(platform);

  const body = { type: 'github', token: host.state.token, repository: 'acme/shop', base_url: host.state.origin };
  const { json } = await owner.send('POST', `/projects/${projectId}/integrations`, body);
  const integration = String(json._embedded.entity.id);

  const rememberRequest = async (number: number, commit: string, isFromFork = false) => {
    const details = JSON.stringify({
      number,
      title: 'Change',
      state: 'open',
      isDraft: false,
      isFromFork,
      sourceBranch: 'change',
      targetBranch: 'main',
      commit,
      url: 'https://github.com/acme/shop/pull/7',
      source: { head: `refs/pull/${number}/head` },
    });
    await db
      .insertInto('pull_requests')
      .values({ integration_id: integration, number, details })
      .onConflict((conflict) => conflict.columns(['integration_id', 'number']).doUpdateSet({ details }))
      .execute();
  };
  return {
    owner,
    projectId,
    integration,
    host,
    push,
    rememberRequest,
    openRequest: async (number: number, version: string): Promise<string> => {
      const commit = await push(`pr-${number}`, version, { status: 'active', parent: 'main', is_pr: true });
      await rememberRequest(number, commit);
      return commit;
    },
    /** It is known at once; the environment goes by an activity. */
    closeRequest: (number: number) =>
      db.transaction().execute(async (tx) => {
        await tx.deleteFrom('pull_requests').where('integration_id', '=', integration).where('number', '=', number).execute();
        const environment = await environmentById(tx, config.domain, projectId, `pr-${number}`);
        if (environment) await startRemoval(tx, platform, environment, await actorById(tx, null));
      }),
    /** The host is told what there is to tell now. */
    report: async () => {
      await reportToCodeHosts.run(platform, new AbortController().signal);
      await deliver(home);
    },
    /** What the host was told of commits for an environment, in order. */
    statuses: (environment: string) =>
      host.state.statuses
        .filter(({ body: { context } }) => context === `offshoot/${environment}`)
        .map(({ commit, body: { state } }) => [commit, state]),
    addressOf: (environment: string) =>
      String(host.state.statuses.findLast(({ body: { context } }) => context === `offshoot/${environment}`)?.body['target_url']),
    comments: (number: number) => host.state.comments.filter(({ pullRequest }) => pullRequest === number).map(({ text }) => text),
  };
}

export type ReportedProject = Awaited<ReturnType<typeof openReportedProject>>;
