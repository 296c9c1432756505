/** A code host from the settings of an integration, as they are published, with its secrets. */
import { invalidField } from '../../kernel/problem.ts';
import { openBitbucket } from './bitbucket/bitbucket.ts';
import type { BitbucketCredential } from './bitbucket/bitbucket-credential.ts';
import { openBitbucketServer } from './bitbucket-server/bitbucket-server.ts';
import type { CodeHost, Send } from './code-host.ts';
import { openGitea } from './gitea/gitea.ts';
import { openGithub } from './github/github.ts';
import type { GithubCredential } from './github/github-credential.ts';
import { openGitlab } from './gitlab/gitlab.ts';
import type { HostTokens } from './host-tokens.ts';

interface GithubSettings {
  type: 'github';
  repository: string;
  token?: string;
  /** In the place of a token. */
  app?: { app_id: string; private_key: string; installation_id?: string };
  base_url?: string | null;
}

interface GitlabSettings {
  type: 'gitlab';
  project: string;
  token: string;
  base_url?: string | null;
}

interface BitbucketSettings {
  type: 'bitbucket';
  repository: string;
  app_credentials?: { key: string; secret: string } | null;
  addon_credentials?: { addon_key: string; client_key: string; shared_secret: string } | null;
  pull_requests_max_pages?: number | null;
}

interface BitbucketServerSettings {
  type: 'bitbucket_server';
  url: string;
  project: string;
  repository: string;
  username: string;
  token: string;
}

interface GiteaSettings {
  type: 'gitea';
  repository: string;
  token: string;
  base_url: string;
}

export type CodeHostSettings = GithubSettings | GitlabSettings | BitbucketSettings | BitbucketServerSettings | GiteaSettings;

export interface HostHands {
  send: Send;
  /** Where access tokens are kept for the next one who opens a host with the same credential. */
  tokens: HostTokens;
}

/** `repositoryId` is what the host called the repository when it was verified. */
export function openCodeHost(settings: CodeHostSettings, { send, tokens }: HostHands, repositoryId?: string): CodeHost {
  switch (settings.type) {
    case 'github':
      return openGithub({
        ...settings,
        credential: githubCredential(settings),
        baseUrl: settings.base_url ?? undefined,
        repositoryId,
        send,
        tokens,
      });
    case 'gitlab':
      return openGitlab({ ...settings, baseUrl: settings.base_url ?? undefined, repositoryId, send });
    case 'bitbucket': {
      const pullRequestPagesMax = settings.pull_requests_max_pages ?? undefined;
      return openBitbucket({ ...settings, credential: bitbucketCredential(settings), pullRequestPagesMax, repositoryId, send, tokens });
    }
    case 'bitbucket_server':
      return openBitbucketServer({ ...settings, repositoryId, send });
    case 'gitea':
      return openGitea({ ...settings, baseUrl: settings.base_url, repositoryId, send });
  }
}

function githubCredential({ token, app }: GithubSettings): GithubCredential {
  if (app) return { kind: 'app', appId: app.app_id, privateKey: app.private_key, installationId: app.installation_id };
  if (token === undefined) throw invalidField('token', 'is required');
  return { kind: 'token', token };
}

function bitbucketCredential({ app_credentials: app, addon_credentials: addon }: BitbucketSettings): BitbucketCredential {
  if (app) return { kind: 'consumer', ...app };
  if (!addon) throw invalidField('app_credentials', 'is required where there are no addon_credentials');
  return { kind: 'addon', addonKey: addon.addon_key, clientKey: addon.client_key, sharedSecret: addon.shared_secret };
}
