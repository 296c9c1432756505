/** A project of a test that is connected with a code host of the test, which speaks its real wire and has a real repository behind it. */
import { onTestFinished } from 'vitest';
import { webAddress } from '../../../drivers/code-hosts/bitbucket/bitbucket-shapes.ts';
import type { Asked } from '../../../drivers/code-hosts/code-host.ts';
import type { Happening } from '../../../drivers/code-hosts/test-host.ts';
import type { RemoteRepository } from '../../../drivers/git/git.ts';
import { workThrough } from '../../../testing/activities.ts';
import type { Person, TestPlatform } from '../../../testing/platform.ts';
import { sampleProject } from '../../../testing/samples.ts';
import { opened } from '../integration.ts';
import { integrationsOf } from '../queries.ts';
import { webhookSecretOf } from './code-host-of.ts';
import { syncCodeHosts } from './sync-code-hosts.ts';
import { openMirroredHost, type MirroredHost, type TestedHost } from './test-mirrored-host.ts';

export const look = (home: TestPlatform) => syncCodeHosts.run(home.platform, new AbortController().signal);

/** The host's repository has one commit on main. */
export async function connectMirrored(home: TestPlatform, owner: Person, type: TestedHost, settings: object = {}) {
  const settled = () => workThrough(home.platform);
  const host = await openMirroredHost(type);
  onTestFinished(host.closeHost);
  if (type === 'bitbucket') leadTo(home, host);
  const first = host.commit('main', { 'README.md': 'hello\n' });
  const { projectId } = await sampleProject(owner);
  await settled();
  const project = `/projects/${projectId}`;
  const { json } = await owner.send('POST', `${project}/integrations`, { ...host.body, ...settings });
  const integrationId = String(json._embedded.entity.id);
  const integration = `${project}/integrations/${integrationId}`;
  const [row] = await integrationsOf(home.platform.db, projectId, integrationId);
  const secret = webhookSecretOf(opened(home.platform.secrets, row!));
  await look(home);
  await settled();

  const post = (happening: Happening, key = secret) => {
    const { headers, body } = host.deliver(happening, key);
    return home.send({ method: 'POST', url: `${integration}/hook`, headers, payload: body });
  };
  return {
    host,
    first,
    projectId,
    project,
    integration,
    integrationId,
    post,
    /** What happened at the host, told to the platform, and done. */
    happens: async (happening: Happening) => {
      const { status } = await post(happening);
      await settled();
      return status;
    },
    environments: async () => {
      const { json: all } = await owner.send('GET', `${project}/environments`);
      // oxlint-disable-next-line typescript/no-explicit-any -- a test reads the JSON it expects
      return Object.fromEntries(all.map((each: any) => [each.id, each])) as Record<string, any>;
    },
    fetches: async () => (await owner.send('GET', `${integration}/activities`)).json,
  };
}

/** For one test, the public address of Bitbucket leads to its host. */
function leadTo({ platform }: TestPlatform, { origin, send }: MirroredHost): void {
  const { outbound, git } = platform;
  onTestFinished(() => void Object.assign(platform, { outbound, git }));
  const led = <T extends { from: RemoteRepository }>(fetching: T): T => ({ ...fetching, from: ledFrom(fetching.from) });
  const ledFrom = (from: RemoteRepository) => ({ ...from, url: from.url.replace(webAddress, origin) });
  platform.outbound = { ...outbound, request: async (asked) => ({ ...(await send(asked as Asked)), url: asked.url }) };
  platform.git = {
    ...git,
    fetchMirror: (projectId, fetching) => git.fetchMirror(projectId, led(fetching)),
    remoteRefs: (projectId, from, signal) => git.remoteRefs(projectId, ledFrom(from), signal),
  };
}

export const pushed = (host: MirroredHost, branch: string): Happening => ({
  kind: 'ref',
  ref: `refs/heads/${branch}`,
  commit: host.state.branches.get(branch),
});
export const requested = (number: number, as: 'opened' | 'changed' | 'closed'): Happening => ({ kind: 'pull-request', number, as });
