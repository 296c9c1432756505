/** Code hosts of the tests as integrations see them: what is sent to connect a project with each, and under which field each is told what is wrong. */
import { onTestFinished } from 'vitest';
import { bitbucketServerWire } from '../../../drivers/code-hosts/bitbucket-server/test-bitbucket-server.ts';
import { bitbucketWire, testConsumer } from '../../../drivers/code-hosts/bitbucket/test-bitbucket.ts';
import type { Asked } from '../../../drivers/code-hosts/code-host.ts';
import { giteaWire } from '../../../drivers/code-hosts/gitea/test-gitea.ts';
import { githubWire } from '../../../drivers/code-hosts/github/test-github.ts';
import { gitlabWire } from '../../../drivers/code-hosts/gitlab/test-gitlab.ts';
import { serveTestHost, testToken, type HostWire, type TestHost } from '../../../drivers/code-hosts/test-host.ts';
import { deliveryKindsOf } from '../../../kernel/room.ts';
import { rooms } from '../../../rooms.ts';
import type { TestPlatform } from '../../../testing/platform.ts';
import { deliverDue } from '../../deliveries/work.ts';

export interface ConnectedHost {
  type: string;
  wire: HostWire;
  /** What is sent, where the host is at this address. */
  body(origin: string): Record<string, unknown>;
  /** The same with a credential that the host does not know. */
  stranger: Record<string, unknown>;
  /** The same with a repository that the host does not have. */
  elsewhere: Record<string, unknown>;
  fields: { credential: string; repository: string };
}

const missing = { repository: 'acme/absent' };
const wrong = { token: 'a-wrong-token' };

export const connectedHosts: ConnectedHost[] = [
  {
    type: 'github',
    wire: githubWire,
    body: (origin) => ({ token: testToken, repository: 'acme/shop', base_url: origin }),
    stranger: wrong,
    elsewhere: missing,
    fields: { credential: 'token', repository: 'repository' },
  },
  {
    type: 'gitlab',
    wire: gitlabWire,
    body: (origin) => ({ token: testToken, project: 'acme/shop', base_url: origin }),
    stranger: wrong,
    elsewhere: { project: 'acme/absent' },
    fields: { credential: 'token', repository: 'project' },
  },
  {
    type: 'bitbucket',
    wire: bitbucketWire,
    body: () => ({ app_credentials: testConsumer, repository: 'acme/shop' }),
    stranger: { app_credentials: { ...testConsumer, secret: 'a-wrong-secret' } },
    elsewhere: missing,
    fields: { credential: 'app_credentials', repository: 'repository' },
  },
  {
    type: 'bitbucket_server',
    wire: bitbucketServerWire,
    body: (origin) => ({ token: testToken, url: origin, username: 'ada', project: 'acme', repository: 'shop' }),
    stranger: wrong,
    elsewhere: { repository: 'absent' },
    fields: { credential: 'token', repository: 'repository' },
  },
  {
    type: 'gitea',
    wire: giteaWire,
    body: (origin) => ({ token: testToken, base_url: origin, repository: 'acme/shop' }),
    stranger: wrong,
    elsewhere: missing,
    fields: { credential: 'token', repository: 'repository' },
  },
];

/** The tests' hosts are on this machine, which the guard has to be told. */
export const hostsOnThisMachine = { OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8' };

/** A host for one test. */
export async function serveHost(wire: HostWire): Promise<TestHost> {
  const host = await serveTestHost(wire);
  onTestFinished(() => host.close());
  return host;
}

/** For one test, everything that goes out arrives at this host: addresses of the public hosts are fixed. */
export function reachOnly({ platform }: TestPlatform, host: TestHost): void {
  const { outbound } = platform;
  onTestFinished(() => void (platform.outbound = outbound));
  platform.outbound = { ...outbound, request: async (asked) => ({ ...(await host.send(asked as Asked)), url: asked.url }) };
}

/** Sends what waits to be sent. */
export const deliver = ({ platform }: TestPlatform) => deliverDue(deliveryKindsOf(rooms), platform);
