import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openTestReceiver } from '../server/drivers/log-sinks/test-receiver.ts';
import { eventually } from './eventually.ts';
import { createInstallation, repository } from './installation.ts';
import { firstPerson, openProject, successful, type Project } from './open-project.ts';
import { openReleasedCli } from './released-cli.ts';
import { send } from './api.ts';
import { visit } from './visit.ts';

/** Each command starts the client anew, on some machines in an emulator. */
const flowMilliseconds = 300_000;
const [visitsHome, visitsElsewhere] = [30, 7];
/** Transactions are held back for a while, in case the app reports its own; samples are taken every few seconds. */
const recordedSecondsMax = 60;

test(
  'what visitors did and containers used is measured, and logs are sent elsewhere: the breakdown counts every visit, and the sink has every line, also after a kill; the released CLI shows what was used, and carbon follows from it',
  { timeout: flowMilliseconds },
  async () => {
    await using installation = await createInstallation({ OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8' });
    const person = await firstPerson(installation.url, await installation.start());
    const counter = await openProject(person);
    const sink = await openTestReceiver();
    onTestFinished(() => sink.close());
    await counter.api('POST', '/integrations', { type: 'httplog', url: sink.url });
    await counter.copyFrom(join(repository, 'examples', 'counter'), 'First');
    await counter.push('main');
    successful(await counter.lastActivity('main'));
    const from = Math.floor(Date.now() / 1000) - 60;

    const address = await counter.address('main');
    for (let nth = 0; nth < visitsHome; nth += 1) expect((await visit(address)).status).toBe(200);
    for (let nth = 0; nth < visitsElsewhere; nth += 1) expect((await visit(`${address}pages/${nth}?key=secret`)).status).toBe(404);
    await eventually(
      'every visit is counted',
      async () => (await totalOf(counter, from)) === visitsHome + visitsElsewhere,
      recordedSecondsMax,
    );
    const counted = [
      { transaction: '/', total_requests: visitsHome, total_errors: 0 },
      { transaction: '/pages/{id}', total_requests: visitsElsewhere, total_errors: 0 },
    ];
    expect(await visitsOf(counter, from)).toEqual(counted);

    const { breakdown } = await counter.api('GET', `/environments/main/observability/http/breakdown/urls?from=${from}&to=${now()}`);
    expect(breakdown.data.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(visitsHome + visitsElsewhere);
    expect(JSON.stringify(breakdown)).not.toContain('secret');

    const sent = sentLines(counter, sink);
    await eventually('the sink has every line', sent.areAll, recordedSecondsMax, sent.report);
    expect((await visit(`${address}last-words`)).status).toBe(404);
    await installation.kill();
    await installation.start();
    // Nobody waited for the last visit to be counted.
    expect((await visitsOf(counter, from)).filter(({ transaction }) => transaction !== '/last-words')).toEqual(counted);
    await eventually('the sink has the last line, too', sent.areAll, recordedSecondsMax, sent.report);
    expect(sent.accessLines().at(-1)).toContain('last-words');
    expect(sent.accessLines()).toHaveLength(visitsHome + visitsElsewhere + 1);

    await using cli = await openReleasedCli(installation.url);
    const args = ['-p', counter.project, '-e', 'main', '--format', 'plain', '--no-header', '--range', '10m', '--latest'];
    const used = await cli.run(['metrics:all', ...args], person.apiToken);
    expect(used).toMatchObject({ code: 0 });
    for (const service of ['counter', 'counter--ticker', 'store'])
      expect(used.stdout).toMatch(new RegExp(`\\t${service}\\t[\\d.]+%\\t[\\d.]+%`));

    const rowOf = async (command: string) => (await cli.run([command, ...args, '--service', 'store'], person.apiToken)).stdout;
    for (const command of ['metrics:cpu', 'metrics:memory', 'metrics:disk-usage'])
      await eventually(command, async () => /\tstore\t.*[\d.]+%/.test(await rowOf(command)), recordedSecondsMax);

    const { organization } = await counter.api('GET', '');
    const carbon = await send(
      installation.url,
      await person.accessToken(),
      'GET',
      `/organizations/${organization}/metrics/carbon?interval=day`,
    );
    expect(carbon.status).toBe(200);
    expect(carbon.json.total).toBeGreaterThan(0);
    expect(carbon.json.projects).toEqual([expect.objectContaining({ project_id: counter.project })]);
  },
);

/** What a sink was sent, against what the access log of the app has: every line, in order. What was sent twice counts once. */
function sentLines(project: Project, sink: Awaited<ReturnType<typeof openTestReceiver>>) {
  const accessLines = () => {
    const records = sink.taken.flatMap(({ body }) => JSON.parse(body.toString()) as Record<'service' | 'log' | 'message', string>[]);
    return [...new Set(records.filter((each) => `${each.service}/${each.log}` === 'counter/access').map(({ message }) => message))];
  };
  const written = async () => (await project.log('main', 'counter', 'access')).split('\n').slice(0, -1);
  return {
    accessLines,
    areAll: async () => JSON.stringify(accessLines()) === JSON.stringify(await written()),
    report: () => JSON.stringify(accessLines(), undefined, 1),
  };
}

const now = () => Math.floor(Date.now() / 1000);

const totalOf = async (project: Project, from: number) =>
  (await visitsOf(project, from)).reduce((sum, { total_requests }) => sum + total_requests, 0);

interface Counted {
  transaction: string;
  total_requests: number;
  total_errors: number;
}

/** Of the breakdown, what can be counted. */
async function visitsOf(project: Project, from: number): Promise<Counted[]> {
  const path = `/environments/main/observability/server/transactions-break-down?from=${from}&to=${now()}&sort=total_requests`;
  const { transactions } = await project.api('GET', path);
  return transactions.data.map(({ transaction, total_requests, total_errors }: Counted) => ({
    transaction,
    total_requests,
    total_errors,
  }));
}
