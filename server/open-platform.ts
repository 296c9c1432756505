/** Puts the platform together from the parts that main.ts opened. */
import { openHostTokens } from './drivers/code-hosts/host-tokens.ts';
import { openDomainProofs } from './drivers/domain-proofs/domain-proofs.ts';
import { openLogFollowers } from './drivers/logs/follow-logs.ts';
import { openOutbound } from './drivers/outbound/outbound.ts';
import { openLogHub } from './kernel/activity-log.ts';
import { openChangeHub } from './kernel/changes.ts';
import type { Platform } from './platform.ts';
import { openSpending } from './rooms/billing/public.ts';
import { openOwnAuthority } from './rooms/certificates/public.ts';
import { createCallerOf, openKeys } from './rooms/sign-in/public.ts';

type Optional = 'inside' | 'edge' | 'domainProofs' | 'outbound';
type Parts = Omit<
  Platform,
  'keys' | 'authority' | 'spending' | 'callerOf' | 'callerBy' | 'logs' | 'changes' | 'logFollowers' | 'hostTokens' | Optional
> &
  Partial<Pick<Platform, Optional>>;

export async function openPlatform(parts: Parts): Promise<Platform> {
  const keys = await openKeys(parts.db, parts.secrets);
  const authority = await openOwnAuthority(parts);
  const logs = openLogHub(parts.db, parts.notices);
  const inside = async () => (await parts.machine()).runtime;
  const edge = async () => (await parts.machine()).edge;
  const domainProofs = openDomainProofs(parts.config);
  return {
    hostTokens: openHostTokens(),
    inside,
    edge,
    domainProofs,
    outbound: openOutbound(parts.config),
    ...parts,
    keys,
    authority,
    spending: openSpending(parts.config),
    logs,
    changes: openChangeHub(parts.notices),
    logFollowers: openLogFollowers(),
    ...createCallerOf({ ...parts, keys }),
  };
}
