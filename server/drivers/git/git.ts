/**
 * Repositories: one bare Git repository per project, kept by the system's own `git`. Names and ids are checked before they come here, and are
 * passed as arguments of their own, never as options. Every change of a branch says what it was before: whoever comes second is told so.
 */
import type { Readable, Writable } from 'node:stream';
import type { ProjectAt, SubmoduleOrigin } from './submodule-origin.ts';

export interface Git {
  /** The folder of a project's repository. */
  path(projectId: string): string;
  /** Makes the repository, unless it is there. */
  create(projectId: string, defaultBranch: string): Promise<void>;
  remove(projectId: string): Promise<void>;
  exists(projectId: string): Promise<boolean>;
  setDefaultBranch(projectId: string, branch: string): Promise<void>;

  /** Name to commit, of all branches. */
  branches(projectId: string): Promise<Map<string, string>>;
  /** Undefined: no such branch. */
  branch(projectId: string, name: string): Promise<string | undefined>;
  /**
   * Compare and swap: `from` undefined creates, `to` undefined deletes. Being there already is success. Throws StaleBranch when somebody else moved
   * it, and a Problem when another branch's name is in the way (`a` and `a/b` cannot both be).
   */
  moveBranch(projectId: string, name: string, from: string | undefined, to: string | undefined): Promise<void>;

  /** How many commits each has that the other has not. */
  distance(projectId: string, commit: string, other: string): Promise<{ ahead: number; behind: number }>;
  isAncestor(projectId: string, commit: string, of: string): Promise<boolean>;
  /** Newest first, at most so many; `since` undefined: from the beginning. */
  commitsBetween(
    projectId: string,
    since: string | undefined,
    until: string,
    most: number,
  ): Promise<{ commits: CommitSummary[]; count: number }>;

  /**
   * The commit that brings `theirs` into `ours`: one of the two where it has the other already, else a new one. Nothing is changed but objects
   * added. Throws MergeConflict.
   */
  merge(projectId: string, ours: string, theirs: string, message: string, by: Signature): Promise<string>;
  /** The commits of `commit` that `onto` has not, put on top of it; merges among them are left out. Throws MergeConflict. */
  rebase(projectId: string, commit: string, onto: string, by: Signature): Promise<string>;
  /** Fetches a commit of another repository, adds files to it, and returns the commit; no branch is moved. Refuses addresses that are not public. */
  import(projectId: string, source: ImportSource, by: Signature, log: (line: string) => void, signal: AbortSignal): Promise<string>;

  /** Fetches refs of a repository elsewhere into refs here; branches of people stay as they are (mirror.ts). Throws a Problem. */
  fetchMirror(projectId: string, fetching: MirrorFetch): Promise<void>;
  /** The branches and tags that a repository elsewhere has now, by their whole names. Throws a Problem. */
  remoteRefs(projectId: string, from: RemoteRepository, signal: AbortSignal): Promise<Map<string, string>>;
  /** All refs whose names begin so, up to a slash. */
  refsUnder(projectId: string, ...prefixes: readonly string[]): Promise<Ref[]>;

  /** Branches and tags, by name. */
  refs(projectId: string): Promise<Ref[]>;
  /** Undefined: no such object, or one of another kind. Only whole ids are understood. */
  commit(projectId: string, sha: string): Promise<Commit | undefined>;
  tree(projectId: string, sha: string): Promise<TreeEntry[] | undefined>;
  /** Throws a Problem when it is too large to be held in memory. */
  blob(projectId: string, sha: string): Promise<Buffer | undefined>;
  /** File by file, of two commits or trees. Throws a Problem when it is too large. */
  diff(projectId: string, base: string, target: string): Promise<FileDiff[]>;
  /**
   * The tree of a commit with the files of its submodules in their places, and the repository that has it, which `tree`, `blob` and `checkout` can
   * be asked of like a project; undefined where it has no submodules. What is not here yet is fetched, unless `fetching` is left out: then that is a
   * Problem, like all that stands in the way, and names the submodule.
   */
  withSubmodules(projectId: string, tree: string, fetching?: SubmoduleFetching): Promise<WholeTree | undefined>;
  /** Writes the files of a tree into an empty folder, byte for byte; submodules become empty folders. Throws a Problem when there is no room. */
  checkout(projectId: string, tree: string, folder: string, signal?: AbortSignal): Promise<void>;
  /** Makes a repository in an empty folder, with one branch and nothing else of the project, checked out. Throws a Problem when there is no room. */
  clone(projectId: string, cloning: Cloning): Promise<void>;
  /**
   * Takes in commits from whoever is not trusted; no branch is moved. Throws a Problem where they are too large, malformed, not on top of `from`, or
   * made of what the repository has but `from` has not.
   */
  receive(projectId: string, received: Received): Promise<void>;
  /** Whether one of these branches has the commit. */
  isReachable(projectId: string, commit: string, branches: readonly string[]): Promise<boolean>;

  /** A conversation with a Git client. Throws a Problem when there are too many at once. */
  serve(projectId: string, conversation: Conversation): Served;
  /** Packs what many pushes have left, where it is worth it. Returns at once; one repository at a time. */
  tidy(projectId: string): void;

  close(): Promise<void>;
}

export interface Signature {
  name: string;
  email: string;
}

export interface CommitSummary {
  sha: string;
  parents: string[];
  author: Signature & { date: number };
  message: string;
}

export interface Commit extends CommitSummary {
  tree: string;
  committer: Signature & { date: number };
}

export interface TreeEntry {
  path: string;
  /** As Git writes it: 040000, 100644, 100755, 120000, 160000. */
  mode: string;
  type: 'blob' | 'tree' | 'commit';
  sha: string;
}

export interface Ref {
  /** `refs/heads/main`. */
  name: string;
  type: string;
  sha: string;
}

export interface FileDiff {
  old_path: string | null;
  old_id: string | null;
  new_path: string | null;
  new_id: string | null;
  diff: string;
}

export interface ImportSource {
  /** `https://example.org/shop.git`, with `@branch` at its end if not the default one. */
  repository?: string;
  /** A second repository whose files are laid over the first. */
  config?: string;
  files: readonly { path: string; mode: number; contents: Buffer }[];
}

/** A repository on the web, and who asks it. */
export interface RemoteRepository {
  url: string;
  username?: string;
  password?: string;
}

export interface MirrorFetch {
  from: RemoteRepository;
  /** As Git writes it: `+refs/heads/*:refs/mirror/heads/*`. */
  what: readonly string[];
  /** Whether refs go that are gone there. */
  prunes: boolean;
  signal: AbortSignal;
}

export interface Cloning {
  branch: string;
  commit: string;
  folder: string;
  /** Who commits there. */
  by: Signature;
  signal: AbortSignal;
}

export interface Received {
  from: string;
  to: string;
  /** All objects that `to` has and `from` has not, as `git pack-objects` writes them. */
  pack: Readable;
  bytesMax: number;
  signal: AbortSignal;
}

export interface WholeTree {
  repository: string;
  tree: string;
}

export interface SubmoduleFetching {
  log(line: string): void;
  signal: AbortSignal;
  /** The project of this installation that an address is of; undefined for all others. */
  projectAt: ProjectAt;
  /** Throws a Problem unless the project's commits may be had as a submodule. */
  mayUse(projectId: string, path: string): Promise<void>;
}

export interface Submodule {
  /** The path from the root of the outermost repository. */
  path: string;
  commit: string;
  origin: SubmoduleOrigin;
}

export interface Conversation {
  /** Who talks; each user has a share of the conversations that can be held at once. */
  user: string;
  /** On whose behalf, from the outside in (kernel/fair-limit.ts): the repository's owners, who have their shares, too. */
  parties: readonly string[];
  service: 'upload-pack' | 'receive-pack';
  /** `advertisement`: only what there is to ask for. `request`: one question and its answer. `whole`: as over SSH, all on one line. */
  part: 'advertisement' | 'request' | 'whole';
  /** As the client asked for it: `version=2`. */
  protocol: string | undefined;
  /** As in Git's setting `transfer.hideRefs`. */
  hiddenRefs: readonly string[];
  /** Whether it must be possible to tell what came with a push from what was there. */
  keepsWhatCame: boolean;
  /** How large a pack may be. */
  packBytesMax: number;
  hooks: PushHooks | undefined;
}

/** What a conversation asks of the platform when something is pushed. */
export interface PushHooks {
  /** Before anything moves. Lines for the person who pushes; throws to refuse all of it. */
  before(updates: readonly RefUpdate[], options: readonly string[], pushed: Pushed): Promise<readonly string[]>;
  /** When refs have moved: lines, as they come. */
  after(updates: readonly RefUpdate[]): AsyncIterable<string>;
  /** The conversation is over, however it went. */
  ended(): Promise<void>;
}

export interface Pushed {
  /** Whether all that is pushed came with this push or is part of these commits. Throws a Problem when it cannot be found out. */
  isOwnOr(shown: readonly string[]): Promise<boolean>;
}

export interface RefUpdate {
  ref: string;
  /** Undefined: it is new. */
  from: string | undefined;
  /** Undefined: it is deleted. */
  to: string | undefined;
  /** Whether commits are only added; true for new and for deleted refs. */
  isFastForward: boolean;
}

export interface Served {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  /** The exit code, once the hooks have ended too. */
  ended: Promise<number>;
  /** The client is gone. What was announced is seen through all the same. */
  abandon(): void;
}

/** Somebody else moved the branch. */
export class StaleBranch extends Error {}

export class MergeConflict extends Error {
  readonly files: readonly string[];
  constructor(files: readonly string[]) {
    super(`Conflicts in ${files.join(', ')}`);
    this.files = files;
  }
}
