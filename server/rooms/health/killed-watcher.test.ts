/** Whoever looks is killed while it writes down what is to be told; everybody is told all the same, once. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { openSecrets } from '../../kernel/secrets.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import type { Asked } from './test-watcher.ts';
import { deliverTo, openReceiver } from './test-watched-project.ts';
import { noticeFailures } from './watch-health.ts';

const key = randomBytes(32);
let home: TestPlatform;
beforeAll(async () => {
  home = await openTestPlatform(undefined, undefined, { OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1' });
});

/** Answers with how it ended. */
async function watch(killedAt: number): Promise<NodeJS.Signals | number | null> {
  const asked: Asked = { databaseUrl: home.databaseUrl, key: key.toString('hex'), killedAt };
  const watcher = spawn(process.execPath, [join(import.meta.dirname, 'test-watcher.ts'), JSON.stringify(asked)], { stdio: 'inherit' });
  const [code, signal] = (await once(watcher, 'exit')) as [number | null, NodeJS.Signals | null];
  return signal ?? code;
}

test('a kill between noticing, recording and sending loses and doubles nothing', { timeout: 60_000 }, async () => {
  const secrets = openSecrets([key]);
  const platform = { ...home.platform, secrets };
  const { db } = platform;
  const receiver = await openReceiver();
  const { projectId } = await sampleProject(await home.person());
  const add = (id: string, type: string, settings: object, secret: object) =>
    sql`
    insert into integrations (id, project_id, type, settings, secrets_sealed, hears_activities)
    values (${id}, ${projectId}, ${type}, ${JSON.stringify(settings)}, ${secrets.seal(`integration ${id}`, JSON.stringify(secret))}, false)`.execute(
      db,
    );
  await add('first', 'health.email', { recipients: ['one@example.org', 'two@example.org'], from_address: null }, {});
  await add('second', 'health.webhook', {}, { url: `${receiver.origin}/hook`, shared_key: null });
  const fails = { successful: false, reason: 'The build failed.', commands: [], at: new Date().toISOString() };
  await sql`update environments set last_deployment = ${JSON.stringify(fails)}::jsonb where project_id = ${projectId}`.execute(db);
  const recorded = async () => (await db.selectFrom('deliveries').select('id').where('project_id', '=', projectId).execute()).length;

  // Between the two mails of one message: neither is recorded without the other.
  expect(await watch(2)).toBe('SIGKILL');
  expect(await recorded()).toBe(0);
  expect(await watch(3)).toBe('SIGKILL');
  expect(await recorded()).toBe(2);
  await noticeFailures.run(platform, new AbortController().signal);
  await noticeFailures.run(platform, new AbortController().signal);
  expect(await recorded()).toBe(3);
  await deliverTo({ ...home, platform }, receiver);
  expect(receiver.received.map(({ json }) => json.event)).toEqual(['opened']);
  expect((await home.mail()).map(({ to }) => to).toSorted()).toEqual(['one@example.org', 'two@example.org']);
});
