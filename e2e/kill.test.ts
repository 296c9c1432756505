/** `kill -9`, twenty times at random moments: the next start works, and nothing that was acknowledged is lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessToken, send } from './api.ts';
import { eventually } from './eventually.ts';
import { createInstallation, plainHttp, type Installation } from './installation.ts';
import { isAlive, postgresIn } from './processes.ts';
import type { RunningPlatform } from './running-platform.ts';
import { type Client, emptyLedger, expectKept, forgetTokens, signInAsClient, write } from './writing.ts';

const killsDuringFirstStart = 8;
const connectionKills = 3;
const recoverSecondsMax = 60;
const startMillisecondsMax = 240_000;

/** How long a first start takes that nobody kills: that of the platform which is written to; until it is measured, a guess. */
let firstStartMilliseconds = 4000;

describe('after kill -9 during writes', () => {
  /** One installation is written to all the time: whatever is killed, it has what was acknowledged before any kill. */
  const ledger = emptyLedger();
  let installation: Installation;
  let platform: RunningPlatform;
  let client: Client;

  beforeAll(async () => {
    installation = await createInstallation(plainHttp);
    platform = await installation.start();
    firstStartMilliseconds = platform.startMilliseconds;
    client = await signInAsClient(installation.url, (await platform.credentials()).apiToken);
  }, startMillisecondsMax);
  afterAll(() => installation[Symbol.asyncDispose](), startMillisecondsMax);

  const writingMilliseconds = () => 50 + Math.random() * 700;
  /** However slow the machine is, there is something to be lost. */
  const untilMuchIsWritten = (more: number) => {
    const enough = ledger.acknowledged + more;
    return eventually('something is acknowledged', () => ledger.acknowledged > enough, recoverSecondsMax);
  };

  const victims: [string, number, () => Promise<unknown>][] = [
    ['everything', 5, () => platform.killAll()],
    ['the server alone', 2, () => platform.killServer()],
  ];
  for (const [victim, kills, kill] of victims) {
    test(`of ${victim}, ${kills} times, the next start works and everything acknowledged is there`, async () => {
      const before = ledger.acknowledged;
      for (let nth = 0; nth < kills; nth++) {
        const writing = write(client, ledger);
        if (nth === 0) await untilMuchIsWritten(kills);
        await sleep(writingMilliseconds());
        await kill();
        await writing;
        platform = await installation.start();
        await expectKept(client, ledger);
        forgetTokens(ledger);
      }
      expect(ledger.acknowledged).toBeGreaterThan(before + kills);
    });
  }

  const victimsOfPostgres: [string, () => number[]][] = [
    ['one connection of PostgreSQL', () => platform.killPostgresConnection()],
    ['PostgreSQL as a whole', () => platform.killPostgres()],
  ];
  test.for(victimsOfPostgres)(`of %s, ${connectionKills} times, the platform recovers without a new start`, async ([, kill]) => {
    const before = ledger.acknowledged;
    const isBack = async () => (await send(client.url, client.accessToken, 'GET', '/users/me').catch(() => undefined))?.status === 200;
    for (let nth = 0; nth < connectionKills; nth++) {
      const over = new AbortController();
      const writing = write(client, ledger, over.signal);
      if (nth === 0) await untilMuchIsWritten(connectionKills);
      await sleep(writingMilliseconds());
      const connections = kill();
      const isEmpty = () => !connections.some(isAlive);
      await eventually('PostgreSQL has thrown everybody out', isEmpty, recoverSecondsMax, () => platform.said);
      // It may recover so soon that somebody who writes does not notice.
      over.abort();
      await writing;
      await eventually('the platform answers again', isBack, recoverSecondsMax, () => platform.said);
      await expectKept(client, ledger);
      forgetTokens(ledger);
    }
    expect(ledger.acknowledged).toBeGreaterThan(before + connectionKills);
  });

  test('the platform stops in order after all that, and leaves no PostgreSQL behind', async () => {
    await platform.stop();
    expect(postgresIn(installation.data)).toEqual([]);
  });
});

describe('after kill -9 during the first start', () => {
  /** Spread over all that a first start does, so that each part of it is met. */
  for (let part = 0; part < killsDuringFirstStart; part++) {
    test(`at a random moment, in part ${part + 1} of ${killsDuringFirstStart}, the next start works`, async () => {
      await using installation = await createInstallation(plainHttp);
      const killed = installation.launch();
      await sleep(((part + Math.random()) / killsDuringFirstStart) * firstStartMilliseconds);
      await killed.killAll();
      expect(await whoCanSignIn(installation, killed)).toBe('admin@offshoot.localhost');
    });
  }

  test('in the moment it shows the credentials, the next start works', async () => {
    await using installation = await createInstallation(plainHttp);
    const killed = installation.launch();
    killed.when(/^ {2}e-mail/m, () => killed.signal('SIGKILL'));
    await killed.untilEnded();
    expect(await whoCanSignIn(installation, killed)).toBe('admin@offshoot.localhost');
  });
});

/** Starts anew, and answers whom the credentials sign in that were shown, by whichever start. */
async function whoCanSignIn(installation: Installation, killed: RunningPlatform): Promise<string> {
  const next = await installation.start();
  const shown = killed.printedCredentials ?? (await next.credentials());
  const token = await accessToken(installation.url, shown.apiToken);
  const { json } = await send(installation.url, token, 'GET', '/users/me');
  await next.stop();
  expect(next.printedCredentials ?? shown).toEqual(shown);
  return json.email;
}
