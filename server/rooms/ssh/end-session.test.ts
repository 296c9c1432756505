import { once } from 'node:events';
import { expect, test } from 'vitest';
import { openTestPlatform } from '../../testing/platform.ts';
import { sampleEnvironment, sampleInstallation } from '../../testing/samples.ts';
import { environmentById } from '../environments/public.ts';
import { openSessionBook } from './sessions.ts';

test('an operator sees who is inside, and ends it: the person is told, and put out', async () => {
  const home = await openTestPlatform();
  const { platform } = home;
  const [owner, operator] = [await home.person(), await home.person({ is_operator: true })];
  await sampleInstallation(owner);
  const { projectId, environmentId } = await sampleEnvironment(owner);
  const environment = await environmentById(platform.db, platform.config.domain, projectId, environmentId);
  const caller = await platform.callerOf(owner.accessToken, { projectId });
  const gone = new AbortController();
  const visitor = {
    who: { apiToken: owner.apiToken },
    user: 'nobody',
    address: '192.0.2.7',
    dismiss: () => gone.abort(),
    gone: gone.signal,
  };
  const book = openSessionBook(platform);
  const { closing } = await book.begin(visitor, { caller: caller!, environment: environment!, runs: 'app', instance: 0 });

  const [session] = (await operator.send('GET', '/installation/ssh-sessions')).json;
  expect(session).toMatchObject({ email: owner.user.email, environment_id: environmentId, address: '192.0.2.7', is_ending: false });
  const { href, method } = session._links.delete;
  expect((await owner.send(method, href)).status).toBe(404);
  const told = once(closing, 'abort');
  expect((await operator.send(method, href)).status).toBe(204);
  await told;
  expect(closing.reason).toBe('This session was ended by an operator.');
  if (!gone.signal.aborted) await once(gone.signal, 'abort');
  await expect.poll(async () => (await operator.send('GET', '/installation/ssh-sessions')).json).toEqual([]);
  await book.close();
});
