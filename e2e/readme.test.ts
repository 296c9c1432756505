/** The commands of the README, as they are written, in a shell of somebody who has just cloned this. */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createInstallation, plainEnvironment, repository, type Installation } from './installation.ts';
import { runProgram } from './program.ts';
import { cliProgram } from './released-cli-program.ts';
import { visit } from './visit.ts';

/** Each command of the client starts it anew, on some machines in an emulator. */
const stepsSecondsMax = 550;
const flowMilliseconds = 600_000;

const blocksOf = (readme: string) => [...readme.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);

test('the first steps of the README lead a newcomer to a project and a branch that answer', { timeout: flowMilliseconds }, async () => {
  const [start = '', getClient = '', ...steps] = blocksOf(await readFile(join(repository, 'README.md'), 'utf8'));
  expect(start).toBe('./offshoot start\n');
  // `./offshoot test` has brought that client already.
  expect(getClient).toContain('@upsun/cli-linux-x64@');
  expect(steps).toHaveLength(3);

  await using installation = await createInstallation();
  await (await installation.start()).credentials();
  await using newcomer = await makeHome();
  const { code, stdout, stderr } = await runProgram('sh', ['-ec', steps.join('')], {
    env: { ...plainEnvironment(), ...settingsOf(installation), ...newcomer.env },
    folder: repository,
    secondsMax: stepsSecondsMax,
  });
  expect({ code, stdout, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('branched trial from Main') });
  const trial = stdout.trim().split('\n').at(-1) ?? '';
  expect(trial).toContain('//trial-');
  expect((await visit(trial)).text).toContain('Guestbook of trial');
});

/** An empty home folder, and the released client on the way to programs. */
async function makeHome() {
  const home = await mkdtemp(join(tmpdir(), 'offshoot-e2e-newcomer-'));
  const { file, args, env } = await cliProgram('fast');
  const client = join(home, 'bin', 'upsun');
  await mkdir(join(home, 'bin'));
  await writeFile(client, `#!/bin/sh\nexec ${[file, ...args].map((word) => `'${word}'`).join(' ')} "$@"\n`);
  await chmod(client, 0o755);
  const { PATH = '' } = plainEnvironment();
  return {
    env: { ...env, HOME: home, PATH: `${join(home, 'bin')}:${PATH}` },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
}

/** Others may have the usual ports. */
const settingsOf = ({ data, port, sshPort, edgePort, httpsPort }: Installation) => ({
  OFFSHOOT_DATA: data,
  OFFSHOOT_PORT: String(port),
  OFFSHOOT_SSH_PORT: String(sshPort),
  OFFSHOOT_HTTP_PORT: String(edgePort),
  OFFSHOOT_HTTPS_PORT: String(httpsPort),
});
