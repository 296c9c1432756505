import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { openReleasedCli } from '../../../e2e/released-cli.ts';
import { deploySample } from '../../testing/deployment.ts';
import { sampleMount, sampleUse, scopeIn } from '../../testing/measurements.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { sampleEnvironment } from '../../testing/samples.ts';

/** Each command starts the client anew, on some machines in an emulator. */
const flowMilliseconds = 300_000;

test(
  'the released CLI shows what services used: all of it, and processors, memory and disk apart',
  { timeout: flowMilliseconds },
  async () => {
    const home = await openTestPlatform();
    const owner = await home.person();
    const { projectId, environmentId } = await sampleEnvironment(owner);
    await deploySample(home.platform, { projectId, environmentId });
    const { metrics } = home.platform;
    const scope = scopeIn(projectId, environmentId);
    const time = Date.now() - 120_000;
    metrics.append('samples', [sampleUse(scope, time), sampleUse(scope, time, { service: 'router', instance: 'router.0' })]);
    metrics.append('mounts', [sampleMount(scope, time), sampleMount(scope, time, { mount: '/tmp', diskUsed: 2 ** 28 })]);
    await metrics.settled();
    await home.http.listen({ host: '127.0.0.1', port: 0 });
    await using cli = await openReleasedCli(`http://127.0.0.1:${(home.http.server.address() as AddressInfo).port}`);
    const rowsOf = async (command: string, ...args: string[]) => {
      const options = ['-p', projectId, '-e', environmentId, '--format', 'plain', '--no-header', ...args];
      const { code, stdout, stderr } = await cli.run([command, ...options], owner.apiToken);
      expect({ command, code, stderr }).toMatchObject({ code: 0 });
      const rows = stdout.split('\n').filter((row) => row !== '');
      return rows.map((row) => row.split('\t').slice(1));
    };
    expect(await rowsOf('metrics:all')).toEqual([
      ['api', '50.0%', '50.0%', '0.1%', '1.0%', '25.0%', '1.0%'],
      ['router', '50.0%', '50.0%', '', '', '', ''],
    ]);
    expect(await rowsOf('metrics:cpu', '--service', 'api')).toEqual([['api', '0.25', '0.5', '50.0%']]);
    expect(await rowsOf('metrics:memory', '--service', 'api', '--bytes')).toEqual([['api', '134217728', '268435456', '50.0%']]);
    expect(await rowsOf('metrics:disk-usage', '--service', 'api', '--bytes')).toEqual([
      ['api', '1048576', '1073741824', '0.1%', '1.0%', '25.0%'],
    ]);
  },
);
