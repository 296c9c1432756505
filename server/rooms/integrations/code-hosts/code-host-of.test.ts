import { beforeAll, expect, test } from 'vitest';
import { openTestPlatform, type Person, type TestPlatform } from '../../../testing/platform.ts';
import { sampleProject } from '../../../testing/samples.ts';
import { opened } from '../integration.ts';
import { integrationsOf } from '../queries.ts';
import { bodyFor } from '../test-bodies.ts';
import { codeHostOf, isCodeHost, webhookSecretOf } from './code-host-of.ts';

let home: TestPlatform;
let owner: Person;
let projectId: string;

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person();
  ({ projectId } = await sampleProject(owner));
});

const stored = async (id: string) => {
  const [row] = await integrationsOf(home.platform.db, projectId, id);
  return opened(home.platform.secrets, row!);
};

test.for(['github', 'gitlab', 'bitbucket', 'bitbucket_server', 'gitea'] as const)(
  'an integration with %s has a secret of its own for deliveries, which stays and is shown to nobody',
  async (type) => {
    const path = `/projects/${projectId}/integrations`;
    const { json } = await owner.send('POST', path, bodyFor(type));
    const { id } = json._embedded.entity;
    const secret = webhookSecretOf(await stored(id));
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    const { text } = await owner.send('PATCH', `${path}/${id}`, bodyFor(type));
    expect(webhookSecretOf(await stored(id))).toBe(secret);
    expect(text + (await owner.send('GET', path)).text).not.toContain('webhook_secret');
    expect(JSON.stringify(await integrationsOf(home.platform.db, projectId))).not.toContain(secret);
    expect(codeHostOf(home.platform, await stored(id))).toHaveProperty('readDelivery');
  },
);

test('what hosts no code is no code host', () => {
  expect(isCodeHost('webhook')).toBe(false);
});
