/**
 * Where people keep their repositories: GitHub, GitLab, Bitbucket and Gitea, in our own words. A driver speaks one host's protocol for one repository with one
 * credential. It keeps nothing but the access tokens that it got for that credential, decides nothing about environments, and has no way out of its own: it is
 * handed one (`Send`).
 *
 * Whatever fails is a CodeHostFailure, with a sentence for people in which no secret occurs.
 */

/** The part of the guard of everything outgoing that drivers need. Redirects come back as replies. */
export type Send = (asked: Asked) => Promise<Answer>;

export interface Asked {
  url: string;
  method: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  secondsMax: number;
  replyBytesMax: number;
  signal?: AbortSignal;
}

export interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  body: Buffer;
}

export interface CodeHost {
  /** Proves that the credential works and lets the repository be read, and that it is the one that was verified before. */
  verify(): Promise<Verified>;

  /** Has the host tell us what happens. Finds the webhook of the same address again and makes it right; there is never a second one. */
  ensureWebhook(webhook: Webhook): Promise<void>;
  /** Bears finding none. */
  removeWebhook(url: string): Promise<void>;
  /** What a delivery says, once it is proven to come from the host. What is not our business is no event. Connects to nobody. */
  readDelivery(delivery: Delivery, secret: string): HostEvent[];

  branches(): Promise<Ref[]>;
  tags(): Promise<Ref[]>;
  pullRequests(): Promise<OpenPullRequests>;
  /** Undefined where there is none of that number. */
  pullRequest(number: number): Promise<PullRequest | undefined>;

  /** How Git fetches from the repository now: the host is asked whether it is still the same. The password may be good for minutes only. */
  gitAccess(): Promise<GitAccess>;

  /** What is under the same name for the same commit is replaced. */
  reportStatus(status: CommitStatus): Promise<void>;
  /** Writes a comment, or brings the one that was written before up to date. Answers which one it is. */
  keepComment(comment: Comment): Promise<string>;

  /** A new token in the place of this one, which is void from then on. Absent where the host cannot do that. */
  rotateToken?(expiresAt: string): Promise<RotatedToken>;
}

export interface Verified {
  repository: Repository;
  /** A day or a moment as ISO 8601 has them; undefined where the credential does not expire, or the host does not tell. */
  credentialExpiresAt: string | undefined;
}

export interface Repository {
  /** Stays when the repository is renamed or moved. */
  id: string;
  /** As it is called today, which may be another name than the one that was asked for: `acme/shop`. */
  name: string;
  defaultBranch: string;
  /** For people. */
  url: string;
}

export interface Ref {
  name: string;
  commit: string;
}

export interface OpenPullRequests {
  open: PullRequest[];
  /** Whether these are all of them. Otherwise the list was cut short, and says nothing of those that are not on it. */
  isWhole: boolean;
}

export interface PullRequest {
  number: number;
  title: string;
  state: 'open' | 'merged' | 'closed';
  isDraft: boolean;
  /** Its commits are in another repository, whose writers are not ours. Also if that repository is gone. */
  isFromFork: boolean;
  sourceBranch: string;
  targetBranch: string;
  /** The commit at its head. Bitbucket Cloud tells only the first twelve digits. */
  commit: string;
  /** For people. */
  url: string;
  source: PullRequestSource;
}

/** Where Git finds the commits of a pull request. */
export interface PullRequestSource {
  /** The repository to fetch from, where it is another one than ours. */
  repository?: string;
  head: string;
  /** What merging it would make. Absent where the host keeps no such ref. */
  merge?: string;
}

export interface Webhook {
  url: string;
  secret: string;
}

export interface Delivery {
  /** With names in lower case. */
  headers: NodeJS.Dict<string | string[]>;
  /** As it came, because that is what was signed. */
  body: Buffer;
}

/**
 * A pull request is told as it is now, not as what happened to it: deliveries come late, twice and in any order, and whoever has the state needs no
 * history.
 */
export type HostEvent =
  | { kind: 'branch-pushed'; branch: string; commit: string }
  | { kind: 'branch-deleted'; branch: string }
  | { kind: 'tag-pushed'; tag: string; commit: string }
  | { kind: 'tag-deleted'; tag: string }
  | { kind: 'pull-request'; pullRequest: PullRequest }
  | { kind: 'repository-renamed'; name: string }
  | { kind: 'repository-deleted' }
  /** More happened than was told. */
  | { kind: 'look-at-everything' };

export interface GitAccess {
  url: string;
  username: string;
  password: string;
}

export interface CommitStatus {
  commit: string;
  /** What is reported on, once for each commit: `offshoot/pr-7`. */
  name: string;
  state: StatusState;
  description: string;
  /** Where people see what it is about. */
  url: string;
}

export type StatusState = 'pending' | 'success' | 'failure';

export interface Comment {
  pullRequest: number;
  /** By which the comment is known again; secret until it is written, so that nobody can write it first. */
  key: string;
  /** Markdown. */
  text: string;
  /** What was answered the last time. */
  id?: string;
}

export interface RotatedToken {
  token: string;
  expiresAt: string;
}
