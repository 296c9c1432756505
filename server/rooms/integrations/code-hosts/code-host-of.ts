/** The code host behind an integration, asked with its credential through the guard of everything outgoing. */
import type { CodeHost } from '../../../drivers/code-hosts/code-host.ts';
import { openCodeHost, type CodeHostSettings } from '../../../drivers/code-hosts/open-code-host.ts';
import type { Platform } from '../../../platform.ts';
import type { Integration } from '../integration.ts';

export const codeHostTypes: Record<CodeHostSettings['type'], true> = {
  bitbucket: true,
  bitbucket_server: true,
  gitea: true,
  github: true,
  gitlab: true,
};

export const isCodeHost = (type: string): type is CodeHostSettings['type'] => Object.hasOwn(codeHostTypes, type);

/** What it takes to ask hosts. */
export type AsksHosts = Pick<Platform, 'outbound' | 'hostTokens'>;

type Asking = Pick<Integration, 'type' | 'values'>;

/** `repositoryId` is what the host called the repository when it was verified, so that one that took over its name is refused, and no delivery about it believed. */
export function codeHostOf({ outbound, hostTokens }: AsksHosts, { type, values }: Asking, repositoryId?: string): CodeHost {
  if (!isCodeHost(type)) throw new Error(`No code is hosted by ${type}`);
  return openCodeHost({ ...values, type } as CodeHostSettings, { send: outbound.request, tokens: hostTokens }, repositoryId);
}

/** What the host proves its deliveries with. Who registers the webhook gives it to the host; it is never shown. */
export const webhookSecretOf = ({ values }: Asking): string => (values as { webhook_secret?: string }).webhook_secret ?? '';
