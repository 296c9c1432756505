/**
 * All that a handler may touch, opened once by main.ts (open-platform.ts), and the product's words that the kernel's types speak of.
 */
import type { Config } from './config.ts';
import type { Blobs } from './drivers/blobs/blobs.ts';
import type { OwnAuthority } from './drivers/certificates/authority/authority.ts';
import type { HostTokens } from './drivers/code-hosts/host-tokens.ts';
import type { DomainProofs } from './drivers/domain-proofs/domain-proofs.ts';
import type { Edge } from './drivers/edge/edge.ts';
import type { Git } from './drivers/git/git.ts';
import type { LogFollowers } from './drivers/logs/follow-logs.ts';
import type { Credential, Keys, User } from './identity.ts';
import type { Inside, Machine } from './machine.ts';
import type { Metrics } from './drivers/metrics/metrics.ts';
import type { Mail } from './drivers/mail/mail.ts';
import type { Outbound } from './drivers/outbound/outbound.ts';
import type { PhoneSender } from './drivers/phone/phone.ts';
import type { Secrets } from './kernel/secrets.ts';
import type { LogHub } from './kernel/activity-log.ts';
import type { ChangeHub } from './kernel/changes.ts';
import type { Log } from './kernel/log.ts';
import type { Notices } from './kernel/notices.ts';
import type { Db } from './kernel/sql.ts';
import type { Requirement } from './kernel/access.ts';
import type { Endpoint } from './kernel/operation.ts';
import type { Problem } from './kernel/problem.ts';
import type { Grants, Permission, Scope } from './permissions.ts';
import type { Spending } from './spending.ts';

export type { Permission, Scope } from './permissions.ts';

export interface Platform {
  config: Config;
  db: Db;
  log: Log;
  secrets: Secrets;
  keys: Keys;
  mail: Mail;
  phone: PhoneSender;
  git: Git;
  /** The way to addresses that users chose. */
  outbound: Outbound;
  /** Access tokens that code hosts gave out, while they are good. */
  hostTokens: HostTokens;
  /** What owners of domains put up to show that they have them. */
  domainProofs: DomainProofs;
  /** Signs certificates for the installation's own names. */
  authority: OwnAuthority;
  /** Where backups are kept. */
  blobs: Blobs;
  /** What was measured of environments. */
  metrics: Metrics;
  /** The machine that environments run on; opened on first use. */
  machine(): Promise<Machine>;
  /** The edge, which is there before the rest of the machine is opened; in the process that has the machine. */
  edge(): Promise<Edge>;
  /** Access to running containers, also from a process that does not have the machine. */
  inside(): Promise<Inside>;
  /** What the processes of this installation tell each other. */
  notices: Notices;
  /** The logs of activities, as they grow. */
  logs: LogHub;
  /** What changes, for those who watch. */
  changes: ChangeHub;
  /** The logs of apps, as they grow. */
  logFollowers: LogFollowers;
  /** Whether organizations can take on what costs more. */
  spending: Spending;
  /**
   * The bearer of an access token with what they were granted, or undefined when the token is wrong, expired or no longer honoured.
   * One query; `params` of the path say for which project grants are needed.
   */
  callerOf(accessToken: string, params?: Record<string, string>): Promise<Caller | undefined>;
  /** The caller behind another credential than an access token: an SSH key, a certificate, or an API token itself. */
  callerBy(credential: Credential, projectId: string): Promise<Caller | undefined>;
}

/** Who is asking. `user` is read afresh for every request, so what was taken away is gone on the next one. */
export interface Caller {
  readonly id: string;
  readonly user: User;
  /** The credential that the access token came from, as the token names it. */
  readonly via: string;
  /** When the access token expires, in milliseconds since 1970; undefined for credentials that are asked for with every use. */
  readonly expiresAt: number | undefined;
  /** How the caller proved who they are, in the words of the token. */
  readonly amr: readonly string[] | undefined;
  readonly grants: Grants;
  /** Whether a second factor was used for this sign-in, or when this API token was made. */
  readonly hasSecondFactor: boolean;
  can(permission: Permission, scope: Scope): boolean;
  /** Makes known what the caller was granted in more projects, where a request is about several. */
  learn(projects: readonly { id: string; permissions: readonly string[] }[]): void;
  /**
   * What keeps the caller from acting in this scope, whatever they may do there: they have to sign in more strongly first, where an organization or their own
   * second factor demands it; or the organization is suspended, and what they ask for at this endpoint is not possible meanwhile.
   */
  hindrance(scope: Scope, permission?: Requirement, endpoint?: Endpoint): Problem | undefined;
  /** Why nothing runs in this scope and nothing may be changed, if its organization is suspended. */
  suspension(scope: Scope): Problem | undefined;
}
