/** The guestbook of the examples, with a further page for those who count: its version, and all that was ever written into it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { repository } from '../installation.ts';
import { type Project, read } from '../open-project.ts';
import { visit, visitConstantly } from '../visit.ts';

const example = join(repository, 'examples', 'guestbook');
const configFile = '.upsun/config.yaml';
/** An emulated machine needs a second for a page: visitors leave it time for other things. */
const pauseMilliseconds = 5000;
const lingerSecondsMax = 3600;

const everything = (version: string) => `<?php
require __DIR__ . '/../database.php';
header('content-type: application/json');
$words = database()->query('select words from entries order by id')->fetchAll(PDO::FETCH_COLUMN);
echo json_encode(['version' => '${version}', 'words' => $words]);
`;

/** What the deploy hook says when its work is done. */
export const hookIsDone = 'The guestbook is ready';

export const writeGuestbook = (project: Project, version: string) => writeWithHook(project, version, '');

/** Its deploy hook lingers when its work is done, until the machine is booted anew: so long the deployment is in its middle. */
export const writeLingeringGuestbook = (project: Project, version: string, bootId: string) =>
  writeWithHook(project, version, `; if grep -q ${bootId} /proc/sys/kernel/random/boot_id; then sleep ${lingerSecondsMax}; fi`);

async function writeWithHook(project: Project, version: string, afterwards: string) {
  const config = await readFile(join(example, configFile), 'utf8');
  await project.copyFrom(example, `The guestbook for ${version}`);
  const hooked = config.replace('deploy: php prepare.php', `$&${afterwards}`);
  await project.write({ 'web/everything.php': everything(version), [configFile]: hooked }, `Version ${version}`);
}

export async function everythingIn(address: string): Promise<{ version: string; words: string[] }> {
  return JSON.parse(await read(address, '/everything.php'));
}

/** Somebody looks at it again and again; every page must come. */
export const readConstantly = (address: string) =>
  visitConstantly(address, ({ status }) => status === 200, { visitors: 1, pauseMilliseconds });

export interface Signing extends AsyncDisposable {
  /** What visitors were told is written. */
  acknowledged: string[];
  stop(): Promise<void>;
}

const visitors = 2;
let signatures = 0;

/** Visitors sign again and again, until stopped. Whoever gets no answer was promised nothing. */
export function signConstantly(address: string): Signing {
  const acknowledged: string[] = [];
  const over = new AbortController();
  const one = async () => {
    while (!over.signal.aborted) {
      const words = `words ${++signatures}`;
      const reply = await sign(address, words).catch(() => undefined);
      if (reply?.status === 303) acknowledged.push(words);
      await sleep(pauseMilliseconds);
    }
  };
  const all = Array.from({ length: visitors }, one);
  const stop = async () => {
    over.abort();
    await Promise.all(all);
  };
  return { acknowledged, stop, [Symbol.asyncDispose]: stop };
}

const sign = (address: string, words: string) =>
  visit(address, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ name: 'Ada', words }).toString(),
  });
