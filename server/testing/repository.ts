/** Commits for tests, made with Git itself, as a push would leave them. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const person = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
};

export const git = (repository: string, args: string[], options: { input?: string; env?: Record<string, string> } = {}): string =>
  execFileSync('git', ['-c', 'safe.directory=*', '--git-dir', repository, ...args], {
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', ...person, ...options.env },
    ...(options.input !== undefined && { input: options.input }),
  }).trim();

/** A commit on top of another, or the first; no branch is moved. Submodules are commits by path. */
export function commitFiles(
  repository: string,
  parent: string | undefined,
  files: Record<string, string>,
  message = 'Change',
  submodules: Record<string, string> = {},
): string {
  const index = join(tmpdir(), `offshoot-index-${randomBytes(8).toString('hex')}`);
  const env = { GIT_INDEX_FILE: index };
  try {
    if (parent !== undefined) git(repository, ['read-tree', parent], { env });
    for (const [path, text] of Object.entries(files)) {
      const blob = git(repository, ['hash-object', '-w', '--stdin'], { input: text });
      git(repository, ['update-index', '--add', '--cacheinfo', `100644,${blob},${path}`], { env });
    }
    for (const [path, commit] of Object.entries(submodules))
      git(repository, ['update-index', '--add', '--cacheinfo', `160000,${commit},${path}`], { env });
    const tree = git(repository, ['write-tree'], { env });
    return git(repository, ['commit-tree', tree, '-m', message, ...(parent === undefined ? [] : ['-p', parent])]);
  } finally {
    rmSync(index, { force: true });
  }
}
