import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createInstallation, repository } from './installation.ts';
import { firstPerson, openProject, successful } from './open-project.ts';
import { openReleasedCli } from './released-cli.ts';
import { visit } from './visit.ts';

/** Each command starts the client anew, on some machines in an emulator. */
const flowMilliseconds = 300_000;
/** How the client ends when the API has refused something. */
const clientFailed = 255;

test(
  'the released CLI shows and sets sizes, instances and disks without a visitor noticing, what builds get, and why it may not have more',
  { timeout: flowMilliseconds },
  async () => {
    await using installation = await createInstallation();
    const person = await firstPerson(installation.url, await installation.start());
    await using cli = await openReleasedCli(installation.url);
    const counter = await openProject(person);
    await counter.copyFrom(join(repository, 'examples', 'counter'), 'First');
    await counter.push('main');
    successful(await counter.lastActivity('main'));
    const run = async (command: string, ...args: string[]) => {
      const ended = await cli.run([command, '-p', counter.project, ...args], person.apiToken);
      expect({ command, ...ended }).toMatchObject({ code: 0 });
      return ended;
    };

    const visitor = visitNowAndThen(await counter.address('main'));
    const sizes = ['--size', 'counter:1,counter--ticker:0.1', '--count', 'counter:3', '--disk', 'store:1024'];
    const set = await run('resources:set', '-e', 'main', ...sizes, '--yes');
    expect(set.stderr).toMatch(
      /Instance count: increasing from 1 to 3.*Setting 'counter' resources to 1 CPU, 384MB RAM.*The activity succeeded/s,
    );
    expect(await visitor.stop()).toEqual([]);
    const got = await run('resources:get', '-e', 'main', '--format', 'plain', '--no-header');
    expect(got.stdout.split('\n').filter((row) => row !== '')).toEqual([
      'counter\t1\tshared\t1.0\t384\t\t3',
      'counter--ticker\t0.1\tshared\t0.1\t64\t\t1',
      'store\t0.5\tshared\t0.5\t1088\t1024\t1',
    ]);

    const refused = (...args: string[]) => cli.run([args[0] ?? '', '-p', counter.project, ...args.slice(1)], person.apiToken);
    await installation.run(['quota', 'set', 'project', counter.project, 'memory=3000', 'environments=1']);
    const tooLarge = await refused('resources:set', '-e', 'main', '--size', 'counter:4', '--yes');
    expect(tooLarge).toMatchObject({
      code: clientFailed,
      stderr: expect.stringMatching(/would exceed its quota\.\s.*3000\s+MB\s+are\s+allowed/s),
    });
    const tooMany = await refused('environment:branch', 'second', 'main', '--no-checkout', '--yes');
    expect(tooMany).toMatchObject({ code: clientFailed, stderr: expect.stringMatching(/environments: it has 1,\s+and 1 are allowed/) });
    await installation.run(['quota', 'set', 'project', counter.project, 'memory=none', 'environments=none']);

    const offered = await run('autoscaling:get', '-e', 'main', '--format', 'plain', '--no-header');
    expect(offered.stdout).toMatch(/^counter\tcpu\tup\t80\.0%\t300\tfalse\t3$/m);
    const chosen = ['--threshold-up', '75', '--duration-up', '2m', '--cooldown-down', '10m', '--instances-max', '4'];
    await run('autoscaling:set', '-e', 'main', '--service', 'counter', '--metric', 'cpu', '--enabled', 'true', ...chosen, '--yes');
    const scaled = await run('autoscaling:get', '-e', 'main', '--format', 'plain', '--no-header', '--columns', '+cooldown,max_instances');
    expect(scaled.stdout).toMatch(/^counter\tcpu\tup\t75\.0%\t120\ttrue\t3\t300\t4$/m);
    expect(scaled.stdout).toMatch(/^counter\tcpu\tdown\t20\.0%\t300\ttrue\t3\t600\t4$/m);
    const byHand = await refused('resources:set', '-e', 'main', '--count', 'counter:1', '--yes');
    expect(byHand.code).not.toBe(0);
    expect(byHand.stderr).toMatch(/cannot\s+be\s+changed\s+when\s+autoscaling\s+is\s+enabled/);

    await run('resources:build:set', '--cpu', '2', '--memory', '1024', '--yes');
    expect((await counter.api('GET', '/settings')).build_resources).toEqual({ cpu: 2, memory: 1024 });
    expect((await run('resources:build:get', '--format', 'plain', '--no-header')).stdout.trim()).toMatch(/^2(?:\.0)?\t1024$/);
  },
);

const pauseMilliseconds = 20;

/** Answers everything that was not as it should be. */
function visitNowAndThen(address: string) {
  const failures: string[] = [];
  const over = new AbortController();
  const visiting = (async () => {
    while (!over.signal.aborted) {
      const { status, text } = await visit(address).catch((error: Error) => ({ status: 0, text: error.message }));
      if (status !== 200) failures.push(`${status} ${text}`);
      await sleep(pauseMilliseconds);
    }
  })();
  return {
    stop: async () => {
      over.abort();
      await visiting;
      return failures;
    },
  };
}
