import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shortId } from '../../kernel/id.ts';
import { eachStepTwice, failAtEachStep } from '../../testing/activities.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { commitFiles, git } from '../../testing/repository.ts';
import { openOperatedProject, type OperatedProject } from './test-operated-project.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;

/** An app that answers with the content of the file that operations write. */
const server = `
const { readFileSync } = require('node:fs');
require('node:http').createServer((request, reply) => reply.end(JSON.stringify(readFileSync('note', 'utf8')))).listen(process.env.PORT, '0.0.0.0');
`;

const commitAll = 'git add --all && git commit --quiet --message';

/** The command of each operation, by app and name. */
type Operations = Record<'app' | 'docs', Record<string, string>>;

const filesOf = ({ app, docs }: Operations) => ({
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    source: { root: app, operations: ${JSON.stringify(commandsOf(app))} }
    web: { commands: { start: exec node server.js } }
  docs:
    type: static:1
    build: { flavor: none }
    source: { root: docs, operations: ${JSON.stringify(commandsOf(docs))} }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
`,
  'app/server.js': server,
  'app/note': 'first',
  'docs/index.html': 'docs',
});

const commandsOf = (scripts: Record<string, string>) =>
  Object.fromEntries(Object.entries(scripts).map(([name, command]) => [name, { command }]));

describe.runIf(canRunContainers)(`source operations${whyNoContainers}`, () => {
  let all: TestDeployments;
  /** From the second test on, this is a project in which nothing runs. */
  let project: OperatedProject;

  beforeAll(async () => {
    all = await openTestDeployments();
    for (const type of ['nodejs:22', 'static:1']) await all.machine.images.ensure(type);
    project = await openOperatedProject(all);
  }, imagesMillisecondsMax);
  afterAll(() => all.close());

  const commitsBehind = (sha = '') => git(project.repository, ['log', '--format=%s by %an <%ae>', sha]).split('\n');
  const operate = (operation: string, env: Record<string, string> = {}) =>
    project.act('/source-operation', { operation, variables: { env } });
  const leftOnMachine = async () => {
    const { runtime, volumes } = all.machine;
    return [...(await runtime.list()), ...(await volumes.list())].map(({ name }) => name).filter((name) => name.startsWith('source-'));
  };

  test('what two apps commit one after the other is pushed and deployed together', { timeout }, async () => {
    const note = `printf %s "$NOTE" >note && ${commitAll} "Note"`;
    const index = `cat ../app/note >index.html && ${commitAll} "Index"`;
    const elsewhere = 'touch left && git checkout --quiet -b other && git commit --quiet --allow-empty --message Elsewhere';
    const before = await project.commit(filesOf({ app: { update: note }, docs: { update: index, 'docs only': elsewhere } }));
    await project.act('/activate', { resources: { init: 'minimum' } });
    expect(await project.ask()).toBe('first');
    const { number } = (await project.send('GET', '/earlier-deployments')).json[0];

    const { json } = await project.send('GET', '/source-operations');
    expect(json).toEqual([
      { id: 'app:update', app: 'app', operation: 'update', command: note },
      { id: 'docs:update', app: 'docs', operation: 'update', command: index },
      { id: 'docs:docs only', app: 'docs', operation: 'docs only', command: elsewhere },
    ]);
    expect((await project.send('GET', '')).json._links).toMatchObject({
      '#source-operations': { href: expect.stringContaining('/source-operations') },
      '#source-operation': { href: expect.stringContaining('/source-operation') },
    });

    const done = await operate('update', { NOTE: 'given by hand' });
    expect(done).toMatchObject({ type: 'environment.source-operation', state: 'complete', result: 'success' });
    expect(done.commands).toMatchObject([
      { app: 'app', type: 'source_operation', exit_code: 0 },
      { app: 'docs', type: 'source_operation', exit_code: 0 },
    ]);
    expect(done.log).toMatch(/source operation 'update' of application 'app'[^]*of application 'docs'[^]*Found 2 new commits[^]*Building/);
    const head = await project.branch();
    const { email } = project.owner.user;
    const author = `${(await project.owner.send('GET', '/users/me')).json.username} <${email}>`;
    expect(commitsBehind(head)).toEqual([`Index by ${author}`, `Note by ${author}`, 'Change by Ada <ada@example.org>']);
    expect(git(project.repository, ['rev-parse', `${head}~2`])).toBe(before);
    expect(git(project.repository, ['show', `${head}:docs/index.html`])).toBe('given by hand');
    expect((await project.row()).head_commit).toBe(head);
    expect(await project.ask()).toBe('given by hand');
    expect((await project.send('GET', '/earlier-deployments')).json[0]).toMatchObject({ number: number + 1, commit: head });
    expect(await project.told(done.id)).not.toContain('given by hand');
    expect((await project.send('GET', `/activities/${done.id}`)).json.payload).toMatchObject({ operation: 'update', commits_count: 2 });

    const again = await operate('docs only');
    expect(again).toMatchObject({ result: 'success', log: expect.stringContaining('There are no new commits: nothing is pushed') });
    expect(again.log).toMatch(
      /W: .* commits in the checkout that are not on main: .*\n.*W: .* not committed, and so not pushed: docs\/left\.\n/,
    );
    expect(again.log).not.toContain('Building');
    expect(await leftOnMachine()).toEqual([]);
    project = await openOperatedProject(all);
  });

  test(
    'a command has what a build of its app has, and a checkout of the branch alone; one that fails pushes nothing',
    { timeout },
    async () => {
      const look = `
      echo "in $(pwd) of $PLATFORM_SOURCE_DIR, told $OWN $GIVEN $TOKEN by $(whoami)"
      echo "refs: $(git for-each-ref --format='%(refname)' | tr '\\n' ' ')remotes: $(git remote)."
      git cat-file -e $SECRET_COMMIT 2>/dev/null && echo "seen what is hidden"
      touch /tmp/x $PLATFORM_CACHE_DIR/x $HOME/x
      test -z "$(git status --porcelain)" && echo clean
      echo oops >&2
      exit 7`;
      await project.commit(filesOf({ app: { look }, docs: {} }));
      const hidden = commitFiles(project.repository, await project.branch(), { secret: 'secret' });
      git(project.repository, ['update-ref', 'refs/heads/hidden', hidden]);
      git(project.repository, ['update-ref', 'refs/tags/v1', hidden]);
      for (const [name, value] of Object.entries({ 'env:OWN': 'own', 'env:GIVEN': 'weak', 'env:TOKEN': 'sesame' }))
        await project.send('POST', '/variables', { name, value, visible_build: true, is_sensitive: name === 'env:TOKEN' });
      const before = await project.branch();
      const done = await operate('look', { GIVEN: 'given', SECRET_COMMIT: hidden });
      expect(done).toMatchObject({ result: 'failure', failure_reason: 'shell', commands: [{ app: 'app', exit_code: 7 }] });
      expect(done.log).toContain('in /mnt/source/app of /mnt/source, told own given ***** by app');
      expect(done.log).toContain('refs: refs/heads/main remotes: .');
      for (const said of ['clean', 'W: oops'])
        expect(done.log).toMatch(new RegExp(`\\n\\s+${said}\\n.*E: Nothing is pushed: .* ended with exit code 7\\.`, 's'));
      expect(done.log).not.toContain('hidden');
      expect(await project.branch()).toBe(before);
      for (const name of ['OWN', 'GIVEN', 'TOKEN']) await project.send('DELETE', `/variables/env:${name}`);
    },
  );

  test('nothing but commits is taken from a hostile checkout', { timeout }, async () => {
    const trap = join(tmpdir(), `offshoot-trap-${shortId()}`);
    const traps = `
      mkdir -p .git/hooks ../.git/hooks
      for hook in post-commit pre-auto-gc reference-transaction; do printf '#!/bin/sh\\ntouch ${trap}-hook' >../.git/hooks/$hook; chmod +x ../.git/hooks/$hook; done
      git config core.fsmonitor 'touch ${trap}-fsmonitor'
      git config --global core.pager 'touch ${trap}-pager'
      echo /etc >>../.git/objects/info/alternates
      printf '[submodule "x"]\\n\\tpath = x\\n\\turl = https://example.org/x.git\\n' >/tmp/gitmodules
      rm -rf .git; echo trapped >note`;
    const moved = `mv ../.git /tmp/elsewhere && ln -s /tmp/elsewhere ../.git`;
    const app = {
      trap: `${traps} && ${commitAll} "Trapped" && ${moved}`,
      rewrite: 'git commit --quiet --amend --message "Rewritten"',
      lose: 'rm -rf ../.git',
      detach: 'git checkout --quiet --detach && git branch --quiet --delete --force main',
      replace: 'ln -sfn /etc ../.git-x && rm -rf ../.git && ln -s /etc ../.git',
      'break objects': 'git commit --quiet --allow-empty -m x && find ../.git/objects -name "*.pack" -delete && rm -rf ../.git/objects/??',
      'name a tree': 'tree=$(git rev-parse "HEAD^{tree}") && echo $tree >../.git/refs/heads/main',
    };
    const before = await project.commit(filesOf({ app, docs: {} }));
    for (const [operation, sentence] of Object.entries({
      rewrite: 'The branch was rewritten',
      lose: 'there is no branch main',
      detach: 'there is no branch main',
      replace: 'there is no branch main',
      'break objects': 'The new commits cannot be taken in',
      'name a tree': 'is not a commit',
    })) {
      const done = await operate(operation);
      expect([operation, done.result, done.log]).toEqual([operation, 'failure', expect.stringContaining(sentence)]);
      expect(await project.branch()).toBe(before);
    }
    expect(await operate('trap')).toMatchObject({ result: 'success' });
    expect(git(project.repository, ['show', 'main:app/note'])).toBe('trapped');
    expect(git(project.repository, ['rev-parse', 'main~1'])).toBe(before);
    expect(['hook', 'fsmonitor', 'pager'].filter((name) => existsSync(`${trap}-${name}`))).toEqual([]);
    expect(await leftOnMachine()).toEqual([]);
  });

  test('no more can be pushed than by anybody else', { timeout }, async () => {
    const operator = await all.home.person({ is_operator: true });
    const limitTo = (mebibytes: number) =>
      operator.send('PATCH', `/projects/${project.projectId}/settings`, { git_server: { push_size_hard_limit: mebibytes } });
    await limitTo(1);
    const grow = `head -c 2000000 /dev/urandom >large && ${commitAll} "Large"`;
    const before = await project.commit(filesOf({ app: { grow }, docs: {} }));
    expect(await operate('grow')).toMatchObject({ result: 'failure', log: expect.stringContaining('larger than 1 MiB') });
    expect(await project.branch()).toBe(before);
    await limitTo(64);
    expect(await operate('grow')).toMatchObject({ result: 'success' });
  });

  test('whoever pushes meanwhile wins, and whoever cancels leaves nothing behind', { timeout }, async () => {
    const app = { wait: `${commitAll} "Mine" --allow-empty && echo waiting && sleep \${SECONDS_TO_WAIT:-600}` };
    await project.commit(filesOf({ app, docs: {} }));
    const racing = await project.begin('/source-operation', { operation: 'wait', variables: { env: { SECONDS_TO_WAIT: '0' } } });
    let theirs: string | undefined;
    const raced = await project.ended(racing, {
      afterWork: (_, step) => {
        if (step !== 'run in app') return;
        theirs = commitFiles(project.repository, git(project.repository, ['rev-parse', 'main']), { theirs: 'theirs' });
        git(project.repository, ['update-ref', 'refs/heads/main', theirs]);
      },
    });
    expect(raced).toMatchObject({ result: 'failure', log: expect.stringContaining('Somebody pushed to main meanwhile') });
    expect(theirs).toBeDefined();
    expect(await project.branch()).toBe(theirs);

    await project.commit({});
    const cancelled = await project.begin('/source-operation', { operation: 'wait' });
    await project.whenSaid(cancelled, 'waiting', async () => {
      expect((await project.send('POST', `/activities/${cancelled.id}/cancel`)).status).toBe(200);
      while ((await project.look(cancelled.id)).state === 'in_progress') await new Promise((resolve) => setTimeout(resolve, 50));
    });
    expect(await project.look(cancelled.id)).toMatchObject({ state: 'cancelled', result: 'failure' });
    expect(git(project.repository, ['log', '-1', '--format=%s', 'main'])).toBe('Change');
    expect(await leftOnMachine()).toEqual([]);
  });

  test('killed after each step, commits are pushed once; failing at each step, once or not at all', { timeout: 2 * timeout }, async () => {
    const before = await project.commit(filesOf({ app: { add: `${commitAll} "Added" --allow-empty` }, docs: {} }));
    const { platform } = all.home;
    const begin = () => project.begin('/source-operation', { operation: 'add' });
    const steps = await eachStepTwice(platform, async () => {
      const activity = await begin();
      /** A volume such as a runner leaves that is killed in the middle of the operation. */
      await all.machine.volumes.create(`source-${activity.id}-left`, 2 ** 20);
      return activity;
    });
    expect(steps).toEqual(
      expect.arrayContaining(['read branch', 'find operation', 'run in app', 'move branch', 'remember commit', 'parse commits', 'compare']),
    );
    expect(git(project.repository, ['rev-parse', 'main~1'])).toBe(before);
    expect((await project.row()).head_commit).toBe(await project.branch());

    let known = await project.branch();
    const staying = new Set(['parse commits', 'compare', 'look at environment']);
    await failAtEachStep(platform, begin, async (step) => {
      const now = await project.branch();
      expect([step, now === known]).toEqual([step, !staying.has(step)]);
      expect([step, (await project.row()).head_commit]).toEqual([step, now]);
      known = now;
    });
    expect(await leftOnMachine()).toEqual([]);
  });

  test('what does not exist, or cannot be told, is refused in words', { timeout }, async () => {
    await project.commit(filesOf({ app: { one: 'true', two: 'true' }, docs: {} }));
    const refused = async (body: unknown) => {
      const { status, json } = await project.send('POST', '/source-operation', body);
      return [status, json.message];
    };
    expect(await refused({ operation: 'three' })).toEqual([400, 'operation must be one of one, two; there is no "three".']);
    expect(await refused({})).toEqual([400, expect.stringContaining('operation is required')]);
    expect(await refused({ operation: 'one', variables: { env: { '1X': 'a' } } })).toEqual([
      400,
      expect.stringContaining('variables.env.1X'),
    ]);
    expect(await refused({ operation: 'one', variables: { env: { A: 'x'.repeat(70_000) } } })).toEqual([
      400,
      expect.stringContaining('KiB'),
    ]);
    expect(await refused({ operation: 'one', variables: { 'a b': { A: 'x' } } })).toEqual([400, expect.any(String)]);
    await project.commit({ '.upsun/config.yaml': 'applications: { app: { type: nothing } }' });
    const { status, json } = await project.send('GET', '/source-operations');
    expect([status, json.message]).toEqual([409, expect.stringContaining('The configuration in the last commit cannot be read')]);
  });
});
